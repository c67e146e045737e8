"""`headway evaluate`: the command, and how its report is printed."""
