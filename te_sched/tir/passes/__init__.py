"""Passes that only programs with TVM's names ask for: `build` and `lower` never run them.

`tir.transform` gives them their names. They may use every layer below the faces; no layer below
knows them.
"""
