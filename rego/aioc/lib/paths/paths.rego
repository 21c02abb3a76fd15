# METADATA
# title: Whether a path lies below a folder
# description: |
#   `startswith(path, "/ws/")` holds for `/ws/../etc/passwd`. This function looks at the whole text of a path, and is
#   undefined for whatever a file system could read as another place. It cannot see links, mounts, or what the tool
#   does with the text (`~`, `%2e`, letter case): those are the tool's to refuse.
package aioc.lib.paths

import future.keywords.not

# METADATA
# title: Whether an absolute path lies below the absolute path of a folder
# description: |
#   Write a rule that refuses as `not paths.below(input.parsedArguments.path, "/ws")`. The folder itself is not below
#   itself. Neither text has a segment that is empty, `.` or `..`, a backslash or a control character; the folder's
#   may end in one slash. All else is undefined, and so refused: a relative path, and what is no text.
below(path, root) if {
	is_string(path)
	is_string(root)
	startswith(root, "/")
	folder := trim_suffix(root, "/")
	_is_plain(folder)
	startswith(path, concat("", [folder, "/"]))
	_is_plain(path)
}

# With a slash after it, the last segment is looked at like the others.
_is_plain(path) if {
	closed := concat("", [path, "/"])
	every odd in ["//", "/./", "/../", `\`] {
		not contains(closed, odd)
	}
	not regex.match(`[\x00-\x1f\x7f]`, path)
}
