"""Imports of tvm, and programs with them."""

import importlib


def import_(name):
    return importlib.import_module(name)


def run(source):
    names = {}
    exec(source, names)
    return names
