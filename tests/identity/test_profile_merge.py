"""Two writers of one profile."""

from hypothesis import given
from hypothesis import strategies as st

from hivelore.core.text import Clean
from hivelore.identity.profile import ProfileContent, ProfileField
from hivelore.identity.profile_merge import Changes, changed, changed_fields, merge

VALUES = st.sampled_from(["", "one", "two"]).map(Clean)
CAPABILITIES = st.lists(VALUES, max_size=2).map(tuple)
CONTENTS = st.builds(
    ProfileContent,
    name=st.sampled_from(["ada", "bob"]),
    role=VALUES,
    description=VALUES,
    capabilities=CAPABILITIES,
    soul=VALUES,
    identity=VALUES,
    notes=VALUES,
)


@st.composite
def changes(draw: st.DrawFn) -> Changes:
    fields = draw(st.sets(st.sampled_from(ProfileField)))
    return {one: draw(CAPABILITIES if one is ProfileField.CAPABILITIES else VALUES) for one in fields}


@given(changes(), CONTENTS)
def test_a_change_of_the_current_version_never_conflicts(given_changes: Changes, current: ProfileContent) -> None:
    merged = merge(given_changes, current, current)
    assert merged.conflicts == ()
    assert merged.content == changed(current, given_changes)


@given(changes(), CONTENTS, CONTENTS)
def test_a_merge_takes_every_given_value_and_loses_none_of_the_other_writer(
    given_changes: Changes, base: ProfileContent, current: ProfileContent
) -> None:
    merged = merge(given_changes, base, current)
    for field, value in given_changes.items():
        assert merged.content.get(field) == value
    if not merged.conflicts:
        for field in changed_fields(base, current):
            assert merged.content.get(field) == current.get(field)


@given(changes(), CONTENTS, CONTENTS)
def test_a_conflict_is_a_field_that_both_set_to_different_values(
    given_changes: Changes, base: ProfileContent, current: ProfileContent
) -> None:
    expected = [
        field
        for field in ProfileField
        if field in given_changes
        and base.get(field) != current.get(field)
        and given_changes[field] != current.get(field)
    ]
    assert list(merge(given_changes, base, current).conflicts) == expected


@given(changes(), CONTENTS)
def test_a_change_of_a_version_that_is_not_kept_conflicts_unless_equal(
    given_changes: Changes, current: ProfileContent
) -> None:
    merged = merge(given_changes, None, current)
    assert set(merged.conflicts) == {one for one, value in given_changes.items() if value != current.get(one)}
