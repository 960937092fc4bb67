"""The checks of the IFBench instructions: functions of a text and its parameters."""
