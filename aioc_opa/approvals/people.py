"""People: who they are (`Person`), what is asked about them (`PeopleDirectory`), and two directories in memory."""

from __future__ import annotations

from aioc_opa.approvals.people_table import PeopleFile, PeopleTable, PersonEntry
from aioc_opa.approvals.person import PeopleDirectory, Person

__all__ = ["PeopleDirectory", "PeopleFile", "PeopleTable", "Person", "PersonEntry"]
