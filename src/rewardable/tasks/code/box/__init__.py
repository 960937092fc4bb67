"""What runs behind the wall: a supervisor, a referee that holds the tests, the solution's process.

Standard library only, started by path in an interpreter of its own (see ``sandbox``).
"""
