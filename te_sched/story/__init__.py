"""The story of a schedule: what each of its primitives did to the program, as data and as a page.

Must not know how a schedule is made or a program compiled: it asks the layers below.
"""
