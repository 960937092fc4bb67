"""The checks of the 25 IFEval instructions: functions of a text and its parameters."""
