"""The commands other than `serve`, run as a person or a script runs them: answers, errors in one
line, exit statuses, order, memory."""
import json
import os
import pathlib
import pty
import re
import shutil
import socket
import subprocess
import tempfile
import threading
import unittest

import harness
import tiny

COMMANDS = ["serve", "classify", "tokenize", "plan", "check", "bench", "health", "version"]
PLAN_OPTIONS = ["stages", "layers-per-stage", "virtual-graphs", "pin", "replicas", "stage-threads",
                "no-pipelining", "no-joining", "max-in-flight"]
SERVE_OPTIONS = PLAN_OPTIONS + [
    "host", "port", "model", "dtype", "microbatch-tokens", "max-queue-tokens", "max-call-inputs",
    "max-call-tokens", "max-body", "max-body-memory", "max-connections", "header-timeout",
    "body-timeout", "idle-timeout", "timeout", "truncate", "http-threads", "tokenizer-threads",
    "stage-timeout", "trace", "drain-delay", "drain-timeout", "log-level",
    "log-format", "access-log"]
TEXTS = ["I love this, thank you so much!", "", "Why would anyone do that?", "日本語 😀 naïve"]


def lines(output):
    """Standard output as one JSON value a line; U+2028 may stand inside of one."""
    return [json.loads(line) for line in output.decode().split("\n") if line]


class CommandTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.tiny = tiny.write(pathlib.Path(cls.folder.name) / "tiny")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def path(self, name, content=""):
        path = pathlib.Path(self.folder.name) / name
        path.write_text(content)
        return path

    def good(self, *arguments, **more):
        """Standard output of a command that must succeed in silence."""
        status, output, errors = harness.run(*arguments, **more)
        self.assertEqual((status, errors), (0, ""), (arguments, output[-300:]))
        return output

    def refused(self, *arguments, status=2, **more):
        """The one line of a command that must be refused."""
        got, output, errors = harness.run(*arguments, **more)
        self.assertEqual((got, output), (status, b""), (arguments, errors))
        self.assertRegex(errors, r"\A[^\n]+\n\Z")
        return errors.strip()


class CommandLine(CommandTest):
    def test_help_names_every_command_and_option(self):
        whole = self.good("--help").decode()
        for command in COMMANDS:
            self.assertRegex(whole, r"(?m)^  %s +\S" % command)
            page = self.good(command, "--help").decode()
            self.assertTrue(page.startswith("usage: bertd " + command), page)
            self.assertEqual(page, self.good(command, "--nonsense", "-h").decode())
        page = self.good("serve", "--help").decode()
        for option in SERVE_OPTIONS:
            self.assertRegex(page, r"(?m)^  --%s\b" % option)
        for command in ("classify", "plan", "check", "bench"):
            page = self.good(command, "--help").decode()
            for option in PLAN_OPTIONS:
                self.assertRegex(page, r"(?m)^  --%s\b" % option, command)

    def test_defaults_in_the_help_are_those_of_the_contract(self):
        page = self.good("serve", "--help").decode()
        for option, value in {
                "host": "127.0.0.1", "port": "8080", "dtype": "f32", "microbatch-tokens": "auto",
                "max-queue-tokens": "auto", "max-call-inputs": "2048", "max-call-tokens": "262144",
                "max-body": "8M", "max-body-memory": "256M", "max-connections": "4096",
                "header-timeout": "10s", "body-timeout": "30s", "idle-timeout": "75s",
                "timeout": "30s", "truncate": "true", "http-threads": "1", "drain-delay": "0",
                "drain-timeout": "30s"}.items():
            self.assertRegex(page, r"(?m)^  --%s .*\(%s\)$" % (option, re.escape(value)))

    def test_the_help_ends_with_what_the_command_has(self):
        for command in COMMANDS:
            page = self.good(command, "--help").decode()
            for option in re.findall(r"(?m)--([a-z-]+) is$", page):
                self.assertRegex(page, r"(?m)^  --%s " % option)
            table = page.split("\n\n")[2]
            for word in ("Bytes", "Times"):
                self.assertEqual("%s take" % word in page, " %s " % word[:-1].upper() in table
                                 or " %s " % word.upper() in table, command)

    def test_no_command_or_an_unknown_one_is_refused(self):
        status, output, errors = harness.run()
        self.assertEqual((status, output), (2, b""))
        self.assertIn("usage: bertd COMMAND", errors)
        self.assertIn("the nearest is serve", self.refused("sevre"))
        self.assertIn("unknown command 'xyzzy'", self.refused("xyzzy"))
        self.assertIn("unknown option '--port'", self.refused("--port", "1"))

    def test_a_wrong_option_is_one_line_with_what_was_given_and_what_is_allowed(self):
        for arguments, parts in (
                (["serve", "--max-queue-tokns", "5"], ["--max-queue-tokns", "--max-queue-tokens"]),
                (["serve", "--port", "65536"], ["--port", "'65536'", "0 to 65535"]),
                (["serve", "--max-body=8X"], ["--max-body", "'8X'", "K, M, G"]),
                (["serve", "--timeout=1h"], ["--timeout", "'1h'", "ms, s, m"]),
                (["serve", "--truncate", "maybe"], ["--truncate", "'maybe'", "true or false"]),
                (["serve", "--dtype", "fp32"], ["--dtype", "'fp32'", "f32|bf16|int8|auto"]),
                (["serve", "--log-format", "x\ny"], ["--log-format", "'x?y'", "text|json"]),
                (["serve", "text"], ["'text'", "options only"]),
                (["serve", "--model", "a", "--model", "b"], ["--model", "twice", "one model"]),
                (["plan", "--stages", "0"], ["--stages", "'0'", "1 to 64, or auto"]),
                (["plan", "--stages"], ["--stages", "no value"]),
                (["classify", "--top-k", "0"], ["--top-k", "'0'", "from 1"]),
                (["classify", "--threshold", "high"], ["--threshold", "'high'", "model"]),
                (["check", "--tolerance", "-1"], ["--tolerance", "'-1'", "0 and above"]),
                (["bench", "--lengths", "8,,9"], ["--lengths", "'8,,9'", "mixed"]),
                (["bench", "--clients", "0"], ["--clients", "'0'", "from 1"]),
                (["bench", "--passes", "0"], ["--passes", "'0'", "from 1", "off"]),
                (["health", "ftp:"], ["URL", "'ftp:'", "http://HOST:PORT"]),
                (["health", "http://a:65536"], ["URL", "'http://a:65536'", "http://HOST:PORT"])):
            message = self.refused(*arguments)
            self.assertTrue(message.startswith("bertd %s: " % arguments[0]), message)
            for part in parts:
                self.assertIn(part, message)

    def test_options_of_later_versions_are_refused_and_never_ignored(self):
        for option in ("api-key", "api-key-file", "cors-origin", "tls-cert",
                       "tls-key", "admin-port"):
            self.assertIn("unknown option '--%s'" % option, self.refused("serve", "--" + option))
            variable = "BERTD_" + option.upper().replace("-", "_")
            message = self.refused("serve", env={variable: "secret-value"})
            self.assertIn(variable, message)
            self.assertNotIn("secret-value", message)

    def test_every_option_of_serve_is_a_variable_too(self):
        options = re.findall(r"^  --([a-z-]+) ", self.good("serve", "--help").decode(), re.M)
        self.assertGreater(len(options), 30)
        for option in options:
            if option not in ("help", "model", "host", "trace"):
                variable = "BERTD_" + option.upper().replace("-", "_")
                self.assertRegex(self.refused("serve", env={variable: "?!"}),
                                 "(%s|--%s): .*\\?!" % (variable, option))

    def test_a_value_that_the_model_refuses_is_named_by_where_it_came_from(self):
        for variable, flag, value in (("BERTD_STAGES", "--stages", "64"),
                                      ("BERTD_PIN", "--pin", "x"),
                                      ("BERTD_LAYERS_PER_STAGE", "--layers-per-stage", "1,,"),
                                      ("BERTD_TRACE", "--trace", "/nowhere/at/all")):
            status, _, errors = harness.run("serve", "--port", "0", env={variable: value})
            self.assertIn(status, (1, 2))
            self.assertRegex(errors, r"bertd serve: %s\b" % variable)
            self.assertNotIn(flag, errors.rsplit("bertd serve:", 1)[1])
            status, _, errors = harness.run("serve", "--port", "0", flag, value,
                                            env={variable: "1"})
            self.assertIn(status, (1, 2))
            self.assertRegex(errors, r"bertd serve: %s\b" % flag)

    def test_variables_set_options_and_flags_win(self):
        self.assertIn("BERTD_STAGES: got 'x'", self.refused("plan", env={"BERTD_STAGES": "x"}))
        plan = json.loads(self.good("plan", "--json", env={"BERTD_STAGES": "3"}))
        self.assertEqual([t["name"] for t in plan["threads"]],
                         ["stage 0", "stage 1", "stage 2", "head"])
        plan = json.loads(self.good("plan", "--json", "--stages=1", env={"BERTD_STAGES": "3"}))
        self.assertEqual(len(plan["threads"]), 1)

    def test_output_that_cannot_be_written_is_no_success(self):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([harness.PROGRAM, "version"], stdout=full,
                                  stderr=subprocess.PIPE, env=harness.environment(), timeout=60)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"could not be written", done.stderr)


class Version(CommandTest):
    def test_it_names_program_library_cpu_and_dtype(self):
        output = self.good("version").decode()
        self.assertRegex(output, r"\Abertd \d+\.\d+\.\d+\n(oneDNN|OpenBLAS) \d+\.\d+\.\d+\n"
                                 r"CPU features:[^\n]*\ndtype auto: (f32|bf16)\n\Z")
        flags = pathlib.Path("/proc/cpuinfo").read_text().split()
        for feature in ("avx2", "fma", "amx-tile", "amx-int8", "amx-bf16"):
            self.assertEqual(" %s" % feature in output, feature.replace("-", "_") in flags)
        if "oneDNN" in output:
            self.assertEqual("avx512bf16" in output, "auto: bf16" in output)
        self.assertEqual(self.good("--version").decode(), output)


class Models(CommandTest):
    def test_the_demo_model_is_found_here_and_where_it_is_installed(self):
        self.assertIn(b"Encoder 5", self.good("plan"))
        prefix = pathlib.Path(self.folder.name) / "prefix"
        (prefix / "bin").mkdir(parents=True)
        shutil.copy(harness.PROGRAM, prefix / "bin" / "bertd")

        def plan():
            done = subprocess.run([prefix / "bin" / "bertd", "plan"], cwd="/", timeout=60,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  env=harness.environment())
            return done.returncode, done.stdout + done.stderr
        status, output = plan()
        self.assertEqual(status, 1)
        self.assertIn(b"--model", output)
        (prefix / "share" / "bertd").mkdir(parents=True)
        (prefix / "share" / "bertd" / harness.DEMO.name).symlink_to(harness.DEMO)
        status, output = plan()
        self.assertEqual(status, 0)
        self.assertIn(b"Encoder 5", output)

    def test_a_model_that_is_not_there_is_one_line(self):
        for command in ("serve", "classify", "tokenize", "plan", "check", "bench"):
            message = self.refused(command, "--model", "/no/such/place", status=1)
            self.assertEqual(message, "bertd %s: '/no/such/place': no such directory" % command)

    def test_a_hub_id_is_taken_from_the_local_cache(self):
        cache = pathlib.Path(self.folder.name) / "home" / "hub" / "models--org--tiny"
        tiny.write(cache / "snapshots" / ("ab" * 20))
        (cache / "refs").mkdir()
        (cache / "refs" / "main").write_text("ab" * 20)
        env = {"HF_HOME": str(pathlib.Path(self.folder.name) / "home")}
        report = json.loads(self.good("check", "--model", "org/tiny", "--json", env=env))
        self.assertEqual((report["servable"], report["revision"]), (True, "ab" * 20))
        self.assertIn("not in the cache", self.refused("check", "--model", "org/other", status=1,
                                                       env=env))


class Classify(CommandTest):
    def test_arguments_lines_and_json_lines_give_the_same_answers(self):
        arguments = self.good("classify", "--json", "--", *TEXTS)
        self.assertEqual(arguments, self.good("classify", "--json",
                                              stdin="\n".join(TEXTS).encode()))
        self.assertEqual(arguments, self.good("classify", "--json", stdin="\r\n".join(
            TEXTS + [""]).encode()))
        values = [json.dumps(t) if i % 2 else json.dumps({"text": t})
                  for i, t in enumerate(TEXTS)]
        self.assertEqual(arguments, self.good("classify", "--json", "--jsonl",
                                              stdin="\n\n".join(values).encode()))
        answers = lines(arguments)
        self.assertEqual([a["index"] for a in answers], [0, 1, 2, 3])
        self.assertEqual(answers[1]["tokens"], 2)
        self.assertIn(answers[0]["label"], ("love", "gratitude"))

    def test_answers_are_those_of_the_server_byte_for_byte(self):
        pair = {"text": "Is this good?", "text_pair": "It is awful."}
        inputs = TEXTS + [pair, [2, 1045, 3]]
        with harness.Server() as server:
            for fields, options in (({}, []), ({"top_k": 2}, ["--top-k", "2"]),
                                    ({"threshold": 0.3}, ["--threshold", "0.3"]),
                                    ({"threshold": "model"}, ["--threshold=model"]),
                                    ({"activation": "softmax"}, ["--activation", "softmax"])):
                answer = server.classify(inputs, **fields)
                items = self.good("classify", "--json", "--jsonl", *options,
                                  stdin="\n".join(map(json.dumps, inputs)).encode())
                self.assertEqual(b'"data":[' + items.rstrip().replace(b"\n", b",") + b"]",
                                 answer.data())

    def test_no_locale_changes_an_answer(self):
        plain = self.good("classify", "--json", "I AM HAPPY, 0.5")
        for locale in ("C", "tr_TR.UTF-8", "de_DE.UTF-8", "xx_XX"):
            self.assertEqual(plain, self.good("classify", "--json", "I AM HAPPY, 0.5",
                                              env={"LC_ALL": locale, "LANG": locale}))

    def test_long_texts_are_cut_refused_or_read_in_windows(self):
        long = "hello world " * 100
        model = ["--model", self.tiny, "--json"]
        cut = lines(self.good("classify", *model, long))[0]
        self.assertEqual((cut["tokens"], cut["truncated"]), (64, True))
        left = lines(self.good("classify", *model, "--truncation-side=left", "a " + long))[0]
        self.assertEqual(left["predictions"], lines(self.good(
            "classify", *model, "--truncation-side=left", "b " + long))[0]["predictions"])
        status, output, _ = harness.run("classify", *model, "--truncate", "false", long, "hello")
        self.assertEqual(status, 1)
        refused, answered = lines(output)
        self.assertIn("202", refused["error"])
        self.assertEqual(answered["index"], 1)
        windows = lines(self.good("classify", *model, "--window-stride", "10", long))[0]
        self.assertEqual(windows["truncated"], False)
        self.assertGreater(windows["tokens"], 202)
        # Either option asks for windows, as over HTTP; the other has its default.
        with harness.Server(model=self.tiny) as server:
            for options, window in (
                    (["--window-stride=10", "--window-aggregate=mean"],
                     {"stride": 10, "aggregate": "mean"}),
                    (["--window-stride=10"], {"stride": 10})):
                self.assertEqual(b'"data":[%s]' % self.good(
                    "classify", *model, *options, long).rstrip(),
                    server.classify(long, window=window).data())
        with harness.Server() as server:
            for aggregate in ("max", "mean"):
                self.assertEqual(b'"data":[%s]' % self.good(
                    "classify", "--json", "--window-aggregate", aggregate, long * 4).rstrip(),
                    server.classify(long * 4, window={"aggregate": aggregate}).data())

    def test_an_input_that_fails_keeps_its_place(self):
        status, output, errors = harness.run(
            "classify", "--model", self.tiny, "--json", stdin=b"a\n\xff\xfe\nb\n")
        self.assertEqual((status, errors), (1, ""))
        first, second, third = lines(output)
        self.assertEqual((first["index"], second["index"], third["index"]), (0, 1, 2))
        self.assertEqual(list(second), ["index", "error"])
        status, output, _ = harness.run("classify", "--model", self.tiny, "--json", "--jsonl",
                                        stdin=b'"a"\n{"txt":"a"}\n[]\n"b"')
        self.assertEqual(status, 1)
        self.assertIn("txt", lines(output)[1]["error"])
        self.assertEqual(["error" in line for line in lines(output)], [False, True, True, False])

    def test_the_table_shows_each_text_and_its_best_labels(self):
        output = self.good("classify", "I love this", "bad\x1b[31mcolour\nline").decode()
        self.assertRegex(output, r"(?m)^I love this  \(\d+ tokens\)\n  +0\.\d{4}  love$")
        self.assertNotIn("\x1b", output)
        self.assertEqual(len(output.splitlines()), 2 * 6)

    def test_many_lines_need_no_more_memory_than_few(self):
        def run(count):
            read, write = os.pipe()
            process = subprocess.Popen(
                [harness.PROGRAM, "classify", "--model", str(self.tiny), "--json"], stdin=read,
                stdout=subprocess.PIPE, env=harness.environment())
            os.close(read)

            def feed():
                with open(write, "wb") as pipe:
                    for i in range(count):
                        pipe.write(b"hello world%s\n" % (b" a" * (i % 50)))
            feeder = threading.Thread(target=feed, daemon=True)
            feeder.start()
            answered = 0
            for line in process.stdout:
                if answered % 1000 == 0:
                    self.assertEqual(json.loads(line)["index"], answered)
                answered += 1
            feeder.join()
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = status
            process.stdout.close()
            self.assertEqual((status, answered), (0, count))
            return usage.ru_maxrss
        few = run(3000)
        many = run(harness.scaled(30000, 6000))
        self.assertLess(many, few + 4096 * (1 if not harness.SHORT else 8), "KiB")

    def test_a_line_is_answered_before_the_next_one_comes(self):
        process = subprocess.Popen(
            [harness.PROGRAM, "classify", "--model", str(self.tiny), "--json"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=harness.environment())
        with process:
            for index in range(3):
                process.stdin.write(b"hello\n")
                process.stdin.flush()
                self.assertEqual(json.loads(process.stdout.readline())["index"], index)
            process.stdin.close()
            self.assertEqual(process.wait(60), 0)

    def test_a_bar_is_drawn_only_on_a_terminal_for_a_file(self):
        path = self.path("texts", "hello world\n" * 3000)

        def run(stdin):
            main, terminal = pty.openpty()
            process = subprocess.Popen([harness.PROGRAM, "classify", "--model", str(self.tiny)],
                                       stdin=stdin, stdout=subprocess.DEVNULL, stderr=terminal,
                                       env=harness.environment())
            os.close(terminal)
            seen = b""
            try:
                while piece := os.read(main, 4096):
                    seen += piece
            except OSError:
                pass  # the other side of a terminal is gone
            os.close(main)
            self.assertEqual(process.wait(60), 0)
            return seen
        with open(path, "rb") as file:
            self.assertRegex(run(file), rb"\r\[#* *\] +\d+ % \d+ inputs")
        self.assertEqual(run(subprocess.DEVNULL), b"")
        with open(path, "rb") as file:
            _, _, errors = harness.run("classify", "--model", self.tiny, stdin=file.read())
        self.assertEqual(errors, "")

    def test_a_threshold_of_a_model_without_any_is_refused(self):
        self.assertIn("thresholds.json", self.refused("classify", "--model", self.tiny, "a",
                                                      "--threshold", "model", status=1))


class Tokenize(CommandTest):
    def test_ids_tokens_and_offsets_in_code_points(self):
        output = self.good("tokenize", "--model", self.tiny, "--json", "Hello 😀 BADS", "")
        first, second = lines(output)
        self.assertEqual(list(first), ["ids", "tokens", "offsets", "type_ids",
                                       "special_tokens_mask", "truncated"])
        self.assertEqual(first, {
            "ids": [2, 9, 1, 12, 15, 3],
            "tokens": ["[CLS]", "hello", "[UNK]", "bad", "##s", "[SEP]"],
            "offsets": [[0, 0], [0, 5], [6, 7], [8, 11], [11, 12], [0, 0]],
            "type_ids": [0] * 6, "special_tokens_mask": [1, 0, 0, 0, 0, 1], "truncated": False})
        self.assertEqual(second["ids"], [2, 3])

    def test_pairs_and_errors_keep_their_lines(self):
        status, output, errors = harness.run(
            "tokenize", "--model", self.tiny, "--json", "--jsonl",
            stdin=b'{"text":"a","text_pair":"b c"}\n{"text":5}\n"a"\n')
        self.assertEqual((status, errors), (1, ""))
        pair, bad, last = lines(output)
        self.assertEqual(pair["type_ids"], [0, 0, 0, 1, 1, 1])
        self.assertEqual(pair["offsets"], [[0, 0], [0, 1], [0, 0], [0, 1], [2, 3], [0, 0]])
        self.assertEqual(list(bad), ["error"])
        self.assertEqual(last["ids"], [2, 5, 3])

    def test_tokenizer_files_are_enough(self):
        folder = pathlib.Path(self.folder.name) / "words"
        folder.mkdir()
        (folder / "vocab.txt").write_text("\n".join(tiny.WORDS) + "\n")
        self.assertEqual(lines(self.good("tokenize", "--model", folder, "--json", "a b"))[0]["ids"],
                         [2, 5, 6, 3])

    def test_a_directory_without_them_is_refused_in_one_line(self):
        folder = pathlib.Path(self.folder.name) / "empty"
        folder.mkdir()
        self.assertIn(str(folder), self.refused("tokenize", "--model", folder, "a", status=1))
        (folder / "tokenizer.json").write_text('{"model":{"type":"Unheard"}}')
        self.assertIn("tokenizer.json", self.refused("tokenize", "--model", folder, status=1))

    def test_the_table_has_a_line_for_each_token(self):
        output = self.good("tokenize", "--model", self.tiny, "hello bads").decode()
        self.assertEqual(len(output.splitlines()), 2 + 5)
        self.assertRegex(output, r"(?m)^ +15 +0 +9-10  ##s$")


class Plan(CommandTest):
    def test_every_part_has_its_place(self):
        output = self.good("plan", "--layers-per-stage", "3,3").decode()
        self.assertEqual(re.findall(r"(?m)^(.+) --> VG (\d)$", output),
                         [("Embedding", "0")] + [("Encoder %d" % i, str(i // 3)) for i in range(6)]
                         + [("Pooler", "0"), ("Classifier", "0")])

    def test_layers_and_replicas_are_obeyed_or_refused(self):
        plan = json.loads(self.good("plan", "--json", "--layers-per-stage", "1,-1,2",
                                    "--replicas", "2", "--max-in-flight", "3"))
        self.assertEqual([len(t["parts"]) for t in plan["threads"]], [4, 9, 6, 2])
        self.assertEqual((plan["replicas"], plan["max_in_flight"]), (2, 3))
        for options in (["--stages", "19"], ["--layers-per-stage", "1,2"],
                        ["--layers-per-stage", "-1,-1"], ["--layers-per-stage", "2,x"],
                        ["--stages", "2", "--layers-per-stage", "2,2,2"],
                        ["--virtual-graphs", "0,2,0"], ["--pin", "0-4095"]):
            for command in ("plan", "classify", "bench"):
                self.assertIn(options[-2], self.refused(command, *options))


class Check(CommandTest):
    def test_a_servable_checkpoint_is_listed_whole(self):
        report = json.loads(self.good("check", "--json"))
        self.assertEqual((report["servable"], report["error"], report["family"], report["task"]),
                         (True, None, "bert", "text-classification"))
        self.assertEqual((report["used"], report["unused"], report["missing"]), (105, 0, 0))
        self.assertEqual((len(report["labels"]), report["activation"]), (28, "sigmoid"))
        self.assertEqual(report["max_tokens"], 512)
        self.assertEqual({t["use"] for t in report["tensors"]}, {"used"})
        text = self.good("check").decode()
        self.assertTrue(text.startswith("name:          goemotions-minilm\n"))
        self.assertTrue(text.endswith("\nverdict:       servable\n"))
        for tensor in report["tensors"]:
            self.assertIn("%s  %s\n" % (tensor["name"], tensor["detail"]), text)

    def test_missing_and_unused_tensors_are_named(self):
        values = tiny.config()
        tensors = tiny.weights(values)
        del tensors["classifier.bias"]
        tensors["bert.extra.weight"] = tiny.floats([1], [0.0])
        folder = tiny.write(pathlib.Path(self.folder.name) / "damaged", values, tensors)
        status, output, _ = harness.run("check", "--model", folder, "--json")
        report = json.loads(output)
        self.assertEqual((status, report["servable"]), (1, False))
        uses = {t["name"]: t["use"] for t in report["tensors"]}
        self.assertEqual(uses["classifier.bias"], "missing")
        self.assertEqual(uses["bert.extra.weight"], "unused")
        self.assertEqual(uses["classifier.weight"], "used")
        self.assertIn("classifier.bias", report["error"])

    def test_tensors_of_an_unsupported_model_are_not_called_unused(self):
        values = dict(tiny.config(), architectures=["BertForNextSentencePrediction"])
        folder = tiny.write(pathlib.Path(self.folder.name) / "masked", values, tiny.weights(values))
        status, output, _ = harness.run("check", "--model", folder)
        self.assertEqual(status, 1)
        self.assertIn(b"supported: BertForSequenceClassification", output)
        self.assertIn(b"not matched with a model", output)
        self.assertNotIn(b"unused", output)

    def test_a_directory_that_is_no_checkpoint_says_so(self):
        folder = pathlib.Path(self.folder.name) / "nothing"
        folder.mkdir()
        status, output, _ = harness.run("check", "--model", folder)
        self.assertEqual(status, 1)
        self.assertRegex(output, rb"\nverdict:       not servable: .*config\.json[^\n]*\n\Z")

    def test_expected_answers_are_compared(self):
        items = lines(self.good("classify", "--json", *TEXTS))
        rows = [{"input": text, "answer": item} for text, item in zip(TEXTS, items)]
        path = self.path("expected", "".join(json.dumps(row) + "\n" for row in rows))
        report = json.loads(self.good("check", "--json", "--expect", path))["expect"]
        self.assertEqual(report, {
            "answers_so": True, "inputs": 4, "failed": 0, "first_labels_flipped": 0,
            "thresholds_crossed": 0, "scores": 4 * 28, "beyond_tolerance": 0,
            "largest_difference": 0, "p99_difference": 0})
        rows[2]["answer"]["predictions"][5]["score"] += 0.01
        rows[3]["answer"] = {"label": "grief"}
        path = self.path("other", "".join(json.dumps(row) + "\n" for row in rows))
        status, output, errors = harness.run("check", "--json", "--expect", path)
        report = json.loads(output)["expect"]
        self.assertEqual((status, report["answers_so"]), (1, False))
        self.assertEqual((report["first_labels_flipped"], report["beyond_tolerance"]), (1, 1))
        self.assertAlmostEqual(report["largest_difference"], 0.01, 5)
        self.assertIn("line 3: ", errors)
        self.assertIn("line 4: the first label is", errors)
        status, _, _ = harness.run("check", "--expect", path, "--tolerance", "0.02")
        self.assertEqual(status, 1)
        status, output, _ = harness.run("check", "--expect", path)
        self.assertTrue(output.endswith(
            b"\nverdict:       servable, but does not answer as expected\n"))
        self.refused("check", "--expect", "/no/such/file", status=1)

    def test_a_masked_model_is_listed_and_compared_too(self):
        model = ["--model", harness.ROOT / "tests" / "golden" / "mask_models" / "tied"]
        report = json.loads(self.good("check", *model, "--json"))
        self.assertEqual([report[key] for key in ("layers", "hidden_size", "attention_heads",
                                                  "max_tokens", "vocabulary", "labels",
                                                  "activation")],
                         [2, 36, 2, 24, 1900, [], None])
        self.assertGreater(report["weights_bytes"], 4 * 36 * 1900)
        text = self.good("check", *model).decode()
        self.assertRegex(text, r"\nsizes: +2 layers, .*\nlimits: +24 tokens.*\n"
                               r"weights: +0\.[45] MB")
        self.assertNotRegex(text, "(?m)^(labels|activation):")
        texts = ["the [MASK] of [MASK]", "a [MASK]"]
        items = lines(self.good("fill-mask", *model, "--json", *texts))
        rows = [{"input": text, "answer": item} for text, item in zip(texts, items)]
        path = self.path("masks", "".join(json.dumps(row) + "\n" for row in rows))
        report = json.loads(self.good("check", *model, "--json", "--expect", path))["expect"]
        self.assertEqual(report, {
            "answers_so": True, "inputs": 2, "failed": 0, "first_labels_flipped": 0,
            "thresholds_crossed": 0, "scores": 15, "beyond_tolerance": 0,
            "largest_difference": 0, "p99_difference": 0})
        rows[0]["answer"]["masks"][1][3]["score"] += 0.01
        rows[1]["answer"] = {"token": 7}
        path = self.path("masks", "".join(json.dumps(row) + "\n" for row in rows))
        status, output, errors = harness.run("check", *model, "--json", "--expect", path)
        report = json.loads(output)["expect"]
        self.assertEqual((status, report["first_labels_flipped"], report["beyond_tolerance"]),
                         (1, 1, 1))
        self.assertAlmostEqual(report["largest_difference"], 0.01, 5)
        self.assertRegex(errors, r"line 1: token \d+ has .*\n.*line 2: the best of a mask is token "
                                 r"\d+, expected token 7\n")


class Health(CommandTest):
    def test_it_tells_ready_from_absent(self):
        with harness.Server(model=self.tiny) as server:
            host, port = server.address
            for arguments, env in ((["http://%s:%d" % (host, port)], None),
                                   (["http://localhost:%d/any/path" % port], None),
                                   (["%s:%d" % (host, port)], None),
                                   (["--port", port], None),
                                   ([], {"BERTD_PORT": str(port)}),
                                   ([], {"BERTD_PORT": str(port), "BERTD_HOST": "0.0.0.0"})):
                self.assertEqual(self.good("health", *arguments, env=env), b"")
        self.assertIn("no answer from 127.0.0.1 port %s" % port,
                      self.refused("health", "--port", port, status=1))

    def test_a_server_that_never_answers_is_given_up(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            url = "http://127.0.0.1:%d" % listener.getsockname()[1]
            message = self.refused("health", "--timeout", "200ms", url, status=1, timeout_s=10)
            self.assertIn("timed out", message)

    def test_a_server_that_is_not_ready_is_told_by_its_status(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            def answer():
                connection, _ = listener.accept()
                with connection:
                    connection.recv(4096)
                    for piece in (b"HTTP/1.", b"1 503 Service", b" Unavailable\r\n\r\n"):
                        connection.sendall(piece)
            thread = threading.Thread(target=answer, daemon=True)
            thread.start()
            url = "http://127.0.0.1:%d" % listener.getsockname()[1]
            self.assertIn("status 503", self.refused("health", url, status=1))
            thread.join()


class Serve(CommandTest):
    def test_a_port_in_use_is_one_line(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
            message = self.refused("serve", "--port", port, status=1)
            self.assertIn(str(port), message)

    def test_the_ready_line_is_exact_in_every_log_form(self):
        for options in ([], ["--log-format", "json"], ["--log-level", "error"]):
            with harness.Server(*options, model=self.tiny) as server:
                ready = "bertd: listening on http://127.0.0.1:%d" % server.address[1]
                self.assertEqual(server.errors().splitlines()[-1], ready)

    def test_the_plan_is_logged_before_it(self):
        with harness.Server(model=self.tiny) as server:
            before = server.errors().split("bertd: listening")[0]
            self.assertIn("bertd: Embedding --> VG 0\n", before)
            self.assertIn("bertd: Classifier --> VG 0\n", before)

    def test_a_name_in_front_of_the_model_is_its_name(self):
        with harness.Server(model="my-model=%s" % self.tiny) as server:
            self.assertEqual(server.classify("a").json()["model"], "my-model")

    def test_variables_of_a_service_in_kubernetes_change_nothing(self):
        env = {"BERTD_PORT": "tcp://10.0.0.7:80", "BERTD_SERVICE_HOST": "10.0.0.7",
               "BERTD_PORT_80_TCP": "tcp://10.0.0.7:80"}
        with harness.Server(model=self.tiny, env=env) as server:
            self.assertEqual(server.classify("a").status, 200)


if __name__ == "__main__":
    unittest.main()
