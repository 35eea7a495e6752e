"""Options that the programs of curl share."""

import argparse


def parser(large_hello):
    """A parser of what both programs take. `large_hello`: why that option changes nothing."""
    options = argparse.ArgumentParser()
    options.add_argument("mode", choices=["download"])
    options.add_argument("--authority", required=True, help="whose certificates to take")
    options.add_argument("--connections", type=int, default=1)
    options.add_argument("--large-hello", action="store_true", help=large_hello)
    options.add_argument("server")
    options.add_argument("paths", nargs="+")
    return options
