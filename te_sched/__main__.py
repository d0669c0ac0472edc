"""python -m te_sched: the command line, which is also installed as te-sched."""

from te_sched.cli.main import main

if __name__ == "__main__":
    main()
