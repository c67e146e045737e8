"""`headway evaluate`: the command, and the printing of its report."""
