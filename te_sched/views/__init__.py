"""Views: one object, shown to a person. Loop trees, pictures of the dataflow, highlighted text, and
what a notebook shows of each.

Must not change what is shown, nor know stories of several schedules.
"""
