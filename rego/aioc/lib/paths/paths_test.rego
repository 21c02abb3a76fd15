package aioc.lib.paths_test

import data.aioc.lib.paths
import future.keywords.not

test_below if {
	every path in ["/ws/a", "/ws/a/b.txt", "/ws/..a", "/ws/a..", "/ws/...", "/ws/.hidden", "/ws/ü b"] {
		paths.below(path, "/ws")
		paths.below(path, "/ws/")
		paths.below(path, "/")
	}
}

test_the_folder_itself_and_its_neighbours_are_not_below if {
	every path in ["/ws", "/ws/", "/wsx/a", "/w", "/etc/passwd", "/", ""] {
		not paths.below(path, "/ws")
		not paths.below(path, "/ws/")
	}
}

test_a_path_that_leads_out_is_not_below if {
	every path in [
		"/ws/../etc/passwd", "/ws/a/../../etc", "/ws/..", "/ws/.", "/ws/./a", "/ws//etc", "/ws/a/", "//ws/a", "/../ws/a",
	] {
		not paths.below(path, "/ws")
		not paths.below(path, "/")
	}
}

test_a_relative_path_is_not_below if {
	every path in ["ws/a", "a", "../ws/a", "./ws/a", "~/a", "C:/ws/a", "file:///ws/a"] {
		not paths.below(path, "/ws")
		not paths.below(path, "/")
	}
}

test_backslashes_and_control_characters_are_refused if {
	every path in [`/ws/..\etc`, `/ws/a\b`, "/ws/a\u0000", "/ws/a\u0000.txt", "/ws/a\nb", "/ws/\u007f", "/ws/\t"] {
		not paths.below(path, "/ws")
	}
}

test_what_is_no_text_is_undefined if {
	every odd in [null, 5, true, [], {}, ["/ws/a"]] {
		not paths.below(odd, "/ws")
		not paths.below("/ws/a", odd)
	}
}

test_a_folder_that_is_no_plain_absolute_path_has_nothing_below if {
	every root in ["", "ws", "//", "/ws//", "/./", "/ws/..", "/ws/../", ".", `/ws\`, "/w\ns"] {
		not paths.below("/ws/a", root)
		not paths.below(concat("/", [root, "a"]), root)
	}
}
