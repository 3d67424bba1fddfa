"""What each house rule finds, and what it lets pass."""
import unittest

import rules


class Layers(unittest.TestCase):
    def found(self, path, header):
        return rules.check_layers(path, f'#include "{header}"\n')

    def test_a_lower_layer_does_not_see_a_higher_one(self):
        for path, header in (("engine/base/log.c", "engine/text/utf8.h"),
                             ("engine/text/utf8.c", "engine/model/model.h"),
                             ("engine/model/model.c", "engine/compute/gemm.h"),
                             ("engine/compute/gemm.c", "engine/flow/stage.h"),
                             ("engine/engine_submit.c", "server/http.h"),
                             ("engine/engine.c", "engine/compute/gemm.h")):
            self.assertEqual(1, len(self.found(path, header)), path)

    def test_flow_sees_encodings_and_nothing_else_of_the_text_or_the_model(self):
        self.assertEqual([], self.found("engine/flow/stage.c", "engine/text/encoding.h"))
        for header in ("engine/text/tokenizer.h", "engine/compute/gemm.h", "engine/model/model.h",
                       "engine/nodes.h"):
            self.assertEqual(1, len(self.found("engine/flow/stage.c", header)), header)

    def test_the_server_sees_the_facades_and_base(self):
        for header in ("engine/engine.h", "engine/inspect.h", "engine/base/view.h", "server/api.h"):
            self.assertEqual([], self.found("server/main.c", header))
        for header in ("engine/nodes.h", "engine/flow/call.h", "engine/text/tokenizer.h"):
            self.assertEqual(1, len(self.found("server/main.c", header)), header)

    def test_the_facade_shows_nothing_of_what_lies_behind_it(self):
        self.assertEqual(1, len(self.found("engine/engine.h", "engine/flow/call.h")))

    def test_an_include_is_written_from_the_top(self):
        self.assertEqual(1, len(self.found("engine/base/log.c", "log.h")))

    def test_third_party_headers_stay_in_their_files(self):
        def found(path, header):
            return rules.check_third_party(path, f"#include <{header}>\n")
        self.assertEqual([], found("engine/compute/gemm_onednn.h", "oneapi/dnnl/dnnl.h"))
        self.assertEqual(1, len(found("engine/compute/norm.c", "oneapi/dnnl/dnnl.h")))
        self.assertEqual([], found("engine/compute/gemm_cblas.c", "cblas.h"))
        for header in ("cblas.h", "openblas/cblas.h", "openblas_config.h"):
            self.assertEqual(1, len(found("engine/compute/linear.c", header)), header)
        self.assertEqual([], found("server/http_mhd.c", "microhttpd.h"))
        self.assertEqual(1, len(found("server/api_classify.c", "microhttpd.h")))
        self.assertEqual(1, len(found("engine/flow/call.c", "jansson.h")))
        self.assertEqual([], found("engine/flow/call.c", "stdio.h"))


class Calls(unittest.TestCase):
    def test_a_banned_call_is_found_with_its_line(self):
        self.assertEqual(["server/a.c:2: calls strcpy()"],
                         rules.check_banned_calls("server/a.c", "void f(void) {\n strcpy(a, b);\n"))

    def test_words_in_comments_literals_and_longer_names_are_no_calls(self):
        text = '/* strcpy( */ // gets(\n"atoi(" my_atoi(x) snprintf(a) s->system(x)\n'
        self.assertEqual([], rules.check_banned_calls("server/a.c", text))

    def test_only_library_code_may_not_end_the_process(self):
        self.assertEqual(1, len(rules.check_banned_calls("engine/a.c", "exit(1);\n")))
        self.assertEqual([], rules.check_banned_calls("server/main.c", "exit(1);\n"))


class Files(unittest.TestCase):
    def test_a_c_file_opens_with_its_name_and_role(self):
        self.assertEqual([], rules.check_role("engine/a.c", "/* a.c: adds. */\n"))
        for text in ("int a;\n", "/* b.c: adds. */\n", "/* a.c */\n"):
            self.assertEqual(1, len(rules.check_role("engine/a.c", text)), text)

    def test_a_python_file_opens_with_its_role(self):
        self.assertEqual([], rules.check_role("a.py", '#!/usr/bin/python3\n"""Adds."""\n'))
        self.assertEqual(1, len(rules.check_role("a.py", "import os\n")))

    def test_a_header_is_guarded_by_its_own_name(self):
        self.assertEqual([], rules.check_guard(
            "engine/base/a.h", "#ifndef BERTD_BASE_A_H\n#define BERTD_BASE_A_H\n"))
        self.assertEqual(1, len(rules.check_guard(
            "engine/base/a.h", "#ifndef BERTD_BASE_B_H\n#define BERTD_BASE_B_H\n")))

    def test_white_space(self):
        self.assertEqual([], rules.check_white_space("a.c", "int a;\n"))
        for text in ("int a; \n", "\tint a;\n", "int a;", "int a;\n\n", "int a;\r\n"):
            self.assertEqual(1, len(rules.check_white_space("a.c", text)), repr(text))
        self.assertEqual([], rules.check_white_space("Makefile", "a:\n\tb\n"))

    def test_columns_count_characters_not_bytes(self):
        self.assertEqual([], rules.check_columns("a.c", "é" * 100 + "\n"))
        self.assertEqual(1, len(rules.check_columns("a.c", "é" * 101 + "\n")))

    def test_long_files_are_found_unless_they_are_tables(self):
        self.assertEqual([], rules.check_length("a.c", "\n" * 700))
        self.assertEqual(1, len(rules.check_length("a.c", "\n" * 701)))
        self.assertEqual([], rules.check_length("a_tables.c", "\n" * 5000))

    def test_long_functions_are_found(self):
        def function(lines):
            return "static int f(int a,\n             int b) {\n" + "    a++;\n" * lines + "}\n"
        self.assertEqual([], rules.check_functions("a.c", function(80)))
        self.assertEqual(1, len(rules.check_functions("a.c", function(91))))
        self.assertEqual([], rules.check_functions("a.c", function(60) + function(60)))

    def test_functions_of_a_header_have_a_comment(self):
        self.assertEqual([], rules.check_documented(
            "a.h", "/* Adds. */\nint add(int a, int b);\n\nvoid add_free(int a);\n"))
        self.assertEqual(["a.h: add() has no comment"], rules.check_documented(
            "a.h", "/* Other. */\nint a;\n\nint add(int a,\n        int b);\n"))

    def test_what_sounds_unfinished_is_found(self):
        word = "TO" + "DO"
        self.assertEqual(1, len(rules.check_unfinished("a.c", f"/* {word}: more */\n")))
        self.assertEqual([], rules.check_unfinished("a.c", 'mkdtemp("/tmp/a-XXXXXX") stubborn\n'))

    def test_paths_of_a_machine_are_found(self):
        home = "/ho" + "me/"
        self.assertEqual(1, len(rules.check_machine_paths("a.c", f'open("{home}me/a")\n')))
        self.assertEqual([], rules.check_machine_paths("a.c", f'"tests{home}a" "/proc/self/exe"\n'))

    def test_the_top_level_is_a_closed_list(self):
        self.assertEqual([], rules.check_top_level(["engine", "Makefile"]))
        self.assertEqual(1, len(rules.check_top_level(["engine", "notes.txt"])))

    def test_data_is_left_alone_and_code_is_not(self):
        for path in ("models/goemotions-minilm/vocab.txt", "tests/golden/cases/W/tokenizer.json",
                     "tests/fuzz/corpus/config/a"):
            self.assertEqual((), rules.rules_for(path))
        for path in ("tests/golden/generate_models.py", "engine/base/log.c", "Makefile"):
            self.assertNotEqual((), rules.rules_for(path))


if __name__ == "__main__":
    unittest.main()
