"""Who is who: an account is one person's, a person is one person through however many accounts (design 3.5)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from aioc_opa.approvals.people import PeopleDirectory, PeopleFile, PeopleTable, Person, PersonEntry
from aioc_opa.errors import ConfigurationError, InputFileError

if TYPE_CHECKING:
    from pathlib import Path

ISSUER = "https://id.example"
ANN: dict[str, Any] = {
    "personId": "ann",
    "roles": ["finance"],
    "tenants": ["acme"],
    "accounts": [{"issuer": ISSUER, "subject": "1"}, {"issuer": "https://other.example", "subject": "ann@x"}],
    "identities": ["ann@acme", "ann"],
}
BOB: dict[str, Any] = {"personId": "bob", "roles": ["legal", "finance"], "identities": ["bob@acme"]}


def people_file(tmp_path: Path, people: Any, **more: Any) -> Path:
    path = tmp_path / "people.json"
    path.write_text(json.dumps({"people": people, **more}))
    path.chmod(0o644)
    return path


def test_accounts_persons_and_identities_are_found_exactly(tmp_path: Path) -> None:
    people = PeopleFile(people_file(tmp_path, [ANN, BOB], services=["support-bot"]))
    assert isinstance(people, PeopleDirectory)
    ann = Person("ann", frozenset({"finance"}), frozenset({"acme"}))
    assert people.authenticated(ISSUER, "1") == ann
    assert people.current("bob") == Person("bob", frozenset({"legal", "finance"}), None)
    assert people.requester("ann@acme", "acme") == "ann"
    assert people.requester("bob@acme", None) == "bob"
    assert people.requester("support-bot", "acme") == "support-bot"


def test_one_person_with_two_accounts_is_one_person(tmp_path: Path) -> None:
    people = PeopleFile(people_file(tmp_path, [ANN, BOB]))
    assert people.authenticated(ISSUER, "1") is people.authenticated("https://other.example", "ann@x")


def test_what_is_not_known_is_none(tmp_path: Path) -> None:
    people = PeopleFile(people_file(tmp_path, [ANN, BOB], services=["support-bot"]))
    for issuer, subject in [(ISSUER, "2"), (ISSUER + "/", "1"), ("", ""), ("1", ISSUER), (ISSUER.upper(), "1")]:
        assert people.authenticated(issuer, subject) is None
    for person in ["", "Ann", "ann ", "ann@acme", "support-bot", "\u0430nn"]:
        assert people.current(person) is None
    for identity in ["", "Ann", "bob", "carol", "support-bot ", ISSUER]:
        assert people.requester(identity, "acme") is None


def test_an_identity_of_another_tenant_could_be_anybody(tmp_path: Path) -> None:
    people = PeopleFile(people_file(tmp_path, [ANN]))
    assert people.requester("ann@acme", "globex") is None
    assert people.requester("ann@acme", None) is None
    assert people.requester("ann@acme", "") is None


def test_a_person_serves_their_tenants_only_and_calls_without_one_only_when_not_limited() -> None:
    limited, free = Person("ann", frozenset(), frozenset({"acme"})), Person("bob", frozenset())
    assert [limited.serves(tenant) for tenant in ("acme", "globex", "acm", "", None)] == [True] + [False] * 4
    assert all(free.serves(tenant) for tenant in ("acme", "", None))
    assert not Person("eve", frozenset(), frozenset()).serves("acme")


def test_no_tenants_and_absent_tenants_are_not_the_same(tmp_path: Path) -> None:
    people = PeopleFile(people_file(tmp_path, [{**ANN, "tenants": []}, BOB]))
    ann, bob = people.current("ann"), people.current("bob")
    assert ann is not None
    assert bob is not None
    assert not ann.serves("acme")
    assert bob.serves("acme")


def test_the_file_is_read_once(tmp_path: Path) -> None:
    path = people_file(tmp_path, [ANN])
    people = PeopleFile(path)
    path.unlink()
    assert people.current("ann") is not None


def test_a_string_is_no_set_of_roles_or_tenants() -> None:
    with pytest.raises(ConfigurationError, match="not a string"):
        Person("ann", "finance")  # type: ignore[arg-type] # what is tested
    with pytest.raises(ConfigurationError, match="not a string"):
        Person("ann", frozenset(), "acme")  # type: ignore[arg-type] # likewise
    assert Person("ann", {"finance"}, ["acme"]) == Person("ann", frozenset({"finance"}), frozenset({"acme"}))  # type: ignore[arg-type] # likewise


TAKEN = [
    ([ANN, ANN], [], r"people\[1\]\.personId: this name, or one that looks like it"),
    ([ANN, {**BOB, "personId": "ANN"}], [], r"people\[1\]\.personId: this name"),
    ([ANN, {**BOB, "personId": "\uff41nn"}], [], r"people\[1\]\.personId: this name"),
    ([ANN, {**BOB, "accounts": ANN["accounts"][:1]}], [], r"people\[1\]\.accounts\[0\]: this account stands here already"),
    ([{**ANN, "accounts": ANN["accounts"][:1] * 2}], [], r"people\[0\]\.accounts\[1\]: this account"),
    ([ANN, {**BOB, "identities": ["x", "ann@acme"]}], [], r"people\[1\]\.identities\[1\]: this name"),
    ([ANN, {**BOB, "identities": ["ANN@acme"]}], [], r"people\[1\]\.identities\[0\]: this name"),
    ([ANN, {**BOB, "identities": ["ann"]}], [], r"people\[1\]\.identities\[0\]: this name"),
    ([{**BOB, "identities": ["ann"]}, ANN], [], r"people\[0\]\.identities\[0\]: this name"),
    ([ANN], ["ann@acme"], r"people\[0\]\.identities\[0\]: this name"),
    ([ANN], ["Ann"], r"services\[0\]: this name"),
    ([ANN], ["bot", "BOT"], r"services\[1\]: this name"),
    ([ANN], ["bot", "bot"], r"services: one stands twice"),
    ([ANN], ["bot "], r"services: a name has blanks at an end"),
    ([{**ANN, "identities": ["a", "a"]}], [], r"people\[0\]\.identities: one stands twice"),
    ([{**ANN, "identities": ["a\u200b"]}], [], r"people\[0\]\.identities: .*invisible"),
    ([{**ANN, "personId": " ann"}], [], r"people\[0\]\.personId: a name has blanks"),
    ([{**ANN, "personId": "a\u202enn"}], [], r"people\[0\]\.personId: .*invisible"),
    ([{**ANN, "roles": ["finance\n"]}], [], r"people\[0\]\.roles: a name has blanks"),
    ([{**ANN, "tenants": [" acme"]}], [], r"people\[0\]\.tenants: a name has blanks"),
]  # fmt: skip


@pytest.mark.parametrize(("people", "services", "place"), TAKEN)
def test_a_file_in_which_one_could_be_two_or_two_one_is_refused(
    tmp_path: Path, people: Any, services: Any, place: str
) -> None:
    path = people_file(tmp_path, people, services=services)
    with pytest.raises(InputFileError, match=r"\$\." + place) as refused:
        PeopleFile(path)
    assert str(refused.value).startswith(str(path))


def entry(person: dict[str, Any]) -> PersonEntry:
    tenants = person.get("tenants")
    return PersonEntry(
        Person(person["personId"], frozenset(person["roles"]), None if tenants is None else frozenset(tenants)),
        tuple((account["issuer"], account["subject"]) for account in person.get("accounts", ())),
        tuple(person.get("identities", ())),
    )


@pytest.mark.parametrize(("people", "services", "place"), TAKEN)
def test_a_table_made_in_code_is_held_to_the_same_rules(people: Any, services: Any, place: str) -> None:
    with pytest.raises(ConfigurationError, match=place):
        PeopleTable([entry(person) for person in people], services)


@pytest.mark.parametrize(
    ("made", "place"),
    [
        (PersonEntry(Person("", frozenset())), r"people\[0\]\.personId: names have 1 to 128"),
        (PersonEntry(Person(1, frozenset())), r"people\[0\]\.personId: names have 1 to 128"),  # type: ignore[arg-type] # what is tested
        (PersonEntry(Person("a", frozenset(f"r{n}" for n in range(65)))), r"people\[0\]\.roles: at most 64"),
        (PersonEntry(Person("a", frozenset()), (("", "s"),)), r"accounts\[0\]: an issuer and a subject"),
        (PersonEntry(Person("a", frozenset()), (("i", "s", "t"),)), r"accounts\[0\]: an issuer and a subject"),  # type: ignore[arg-type] # likewise
        (PersonEntry(Person("a", frozenset()), (("i", 1),)), r"accounts\[0\]: an issuer and a subject"),  # type: ignore[arg-type] # likewise
        (PersonEntry(Person("a", frozenset()), (), "bob"), r"identities: strings, not a string"),  # type: ignore[arg-type] # likewise
    ],
)
def test_what_a_file_could_not_say_is_refused_in_code_too(made: PersonEntry, place: str) -> None:
    with pytest.raises(ConfigurationError, match=place):
        PeopleTable([made])


def test_services_are_strings_not_a_string() -> None:
    with pytest.raises(ConfigurationError, match="services: strings, not a string"):
        PeopleTable([], "bot")


@pytest.mark.parametrize(
    ("content", "place"),
    [
        ("[]", r"\$: the top level must be an object"),
        ('{"people":[],"people":[]}', r"\$\.people: .*duplicate_key"),
        ('{"people":[{"personId":"a","personId":"a"}]}', r"\$\.people\[0\]\.personId: .*duplicate_key"),
        ("{}", r"\$\.people: is missing"),
        ('{"people":{}}', r"\$\.people: "),
        ('{"people":[{}]}', r"\$\.people\[0\]\.personId: is missing"),
        ('{"people":[{"personId":"a"}]}', r"\$\.people\[0\]\.roles: is missing"),
        ('{"people":[{"personId":"a","roles":"finance"}]}', r"\$\.people\[0\]\.roles: "),
        ('{"people":[{"personId":1,"roles":[]}]}', r"\$\.people\[0\]\.personId: "),
        ('{"people":[{"personId":"a","roles":[1]}]}', r"\$\.people\[0\]\.roles\[0\]: "),
        ('{"people":[{"personId":"a","roles":[],"role":[]}]}', r"\$\.people\[0\]\.role: is not known here"),
        ('{"people":[{"personId":"a","roles":[],"accounts":[{"issuer":"i"}]}]}', r"accounts\[0\]\.subject: is missing"),
        ('{"people":[{"personId":"a","roles":[],"accounts":[["i","s"]]}]}', r"\$\.people\[0\]\.accounts\[0\]: "),
        ('{"people":[{"person_id":"a","roles":[]}]}', r"\$\.people\[0\]\.personId: is missing"),
        ('{"people":[],"services":"bot"}', r"\$\.services: "),
    ],
)
def test_a_malformed_file_is_refused_at_its_place(tmp_path: Path, content: str, place: str) -> None:
    path = tmp_path / "people.json"
    path.write_text(content)
    with pytest.raises(InputFileError, match=place) as refused:
        PeopleFile(path)
    assert "finance" not in str(refused.value)


def test_a_directory_that_others_may_write_or_replace_is_refused(tmp_path: Path) -> None:
    path = people_file(tmp_path, [ANN])
    for mode in (0o646, 0o664):
        path.chmod(mode)
        with pytest.raises(InputFileError, match="chmod go-w"):
            PeopleFile(path)
    path.chmod(0o644)
    tmp_path.chmod(0o777)
    with pytest.raises(InputFileError, match="others may write its folder"):
        PeopleFile(path)


def test_a_directory_may_be_a_symbolic_link(tmp_path: Path) -> None:
    """Mounted configuration is one, as a rule; it holds nothing private."""
    (tmp_path / "link").symlink_to(people_file(tmp_path, [ANN]))
    assert PeopleFile(tmp_path / "link").current("ann") is not None
