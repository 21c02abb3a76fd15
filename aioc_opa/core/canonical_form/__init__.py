"""The canonical form: the JSON value that policy judges, that is hashed and that approvers see (design 3.2).

It is made by our own walk, compiled from the annotations when a tool is registered. Nothing serializes itself: a
serializer, an `exclude=True`, a computed field or a `__str__` cannot make two different objects look alike.

The rules, each with its room:

1. Exact types; an object's whole state is written, or the object is refused (`write_scalars`, `write_containers`,
   `write_records`).
2. What annotations show is refused at registration, with place and cure (`read_annotation`, `read_class`).
3. A union must be readable back from its JSON (`overlap`).
4. The text is written while walking, in the order of RFC 8785; a property test holds it to the library `rfc8785`.
5. After the parse every field counts as set, and no mutable default is shared (`settle`).
6. The exported schema describes exactly this value (`export_schema`).

Equal texts mean equal values, and equal types but for int and float. A property test holds it to that.
"""

from aioc_opa.core.canonical_form.form import CanonicalForm, compile_form

__all__ = ["CanonicalForm", "compile_form"]
