"""The solver's compiled passes; they see arrays and tables, neither files nor names.

A board has ranks and files, which are its *lines*. The index of a tier has *rows*, each a king and row soldiers, and
within each row *columns*, the choices of cells for column soldiers. Records have the same letter everywhere:

======  ===================  ==============================================================
letter  record               what it is
======  ===================  ==============================================================
t       `Tables`             the rules
r       `OriginTables`       the rules backward
x       `TierTables`         the index of the tiers; s is its ``square``
d       `Desk`               all that one thread works with
w       `Workspace`          its memory: c is the ``cursor``, h the ``hops``, j what is ``judged``
m       `Men`                a position
p       `Pass`, `Marking`    the task of a pass
n       `Messages`           room for messages to other slices
======  ===================  ==============================================================
"""
