"""The one exception whose message is written for the user."""


class UserError(Exception):
    """Something the user can put right: what is wrong, its value, what to do.

    The command line prints the message and exits with code 2; every other
    exception is a bug and keeps its traceback.
    """
