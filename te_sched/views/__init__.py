"""Views of single objects: loop trees, pictures of the dataflow, highlighted text, and their
representation in notebooks. Must not change the objects, nor know explain reports.
"""
