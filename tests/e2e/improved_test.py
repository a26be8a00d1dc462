"""A win must be reached, kept, confirmed, and become what the next candidate is held against. Runs alone."""

from tool import Case, main, measured


@measured
class Improved(Case):
    insists = True

    def undisturbed(self, task, rounds, hypothesis, outcome):
        """Tries one candidate until the machine lets it be measured; what was disturbed is recorded as such."""
        for attempt in range(60):
            self.solution(task, rounds=rounds + attempt)
            reply = self.ako("try", "--hypothesis", hypothesis, "--predict-gain", "66", at=task, exit=(0, 10, 14))
            if reply.code != 14:
                self.assertEqual(reply.json["outcome"], outcome, reply)
                return reply
            self.assertEqual(reply.json["outcome"], "invalid_measurement")
            self.assertEqual(self.ako("log", at=task, exit=0).data["rows"][-1]["outcome"], "invalid_measurement")
        self.fail(f"the machine was never quiet: {reply}")

    def test_a_third_of_the_time_is_improved_kept_and_measured_against_the_baseline(self):
        task = self.proven_task()
        self.solution(task, body="  for (int i = 0; i < n; ++i) y[i] = x[i];")
        self.ako("try", "--hypothesis", "halves are as good as wholes", at=task, exit=11)
        reply = self.undisturbed(task, 4000000, "a third of the waiting", "improved")
        verdict, first = reply.data["verdict"], reply.data["iteration"]
        self.assertEqual(reply.data["decision"], "keep")
        self.assertTrue(verdict["confirmed"])
        self.assertGreater(verdict["interval"]["low"], 0.1)
        self.assertGreater(verdict["gain"], 0.4)
        self.assertLess(verdict["gain"], 0.8)
        self.assertIn("wait(40000", (task / "solution/halve.cpp").read_text())
        self.assertIn("second_opinion", [kind for _, kind, _ in self.events(task)])

        # Chosen among several: the figure that is claimed is from samples taken after that.
        chosen = self.ako("show", at=task, exit=0).data["iteration"]
        claim = self.ako("report", at=task, exit=0).data["claim"]
        self.assertEqual(claim["tried"], first)
        self.assertEqual(claim["fresh"], chosen["versus_baseline"] is not None)  # a busy machine gives none
        if claim["fresh"]:
            self.assertEqual(chosen["versus_baseline"]["against"], verdict["against"])
            self.assertNotEqual(chosen["versus_baseline"]["interval"], verdict["interval"])

        status = self.ako("status", at=task, exit=0).data
        self.assertEqual(status["incumbent"]["number"], first)
        self.assertTrue(status["incumbent"]["confirmed"])

        reply = self.undisturbed(task, 1000000, "a quarter of that", "improved")
        self.assertEqual(reply.data["verdict"]["against"], f"iteration {first}")
        shown = self.ako("show", at=task, exit=0).data["iteration"]
        against_baseline = shown["versus_baseline"]
        self.assertEqual(against_baseline["against"], "baseline:first")
        if against_baseline["outcome"]["kind"] == "improved":
            self.assertGreater(against_baseline["gain"], shown["verdict"]["gain"])

        # What is not better goes back to the incumbent, not to the baseline.
        self.undisturbed(task, 30000000, "much more waiting", "regressed")
        self.assertIn("wait(10000", (task / "solution/halve.cpp").read_text())

        report = self.ako("report", at=task, exit=0).data
        self.assertTrue(report["claim"]["confirmed"])
        self.assertGreater(report["claim"]["low"], 0.1)
        rows = self.ako("log", "--all", at=task, exit=0).data["rows"]
        self.assertEqual(self.ako("verify", at=task, exit=0).data["heads"], len(rows))

    def test_what_works_only_where_it_was_judged_gains_no_more_against_the_baseline(self):
        task = self.proven_task()
        self.solution(task, body="  for (int i = 0; i < n; ++i) y[i] = x[i];")
        self.ako("try", "--hypothesis", "halves are as good as wholes", at=task, exit=11)
        for attempt in range(60):
            self.solution(task, rounds=4000000 + attempt, extra="static bool judged = false;\n")
            self.edit(task / "solution/halve.cpp", "  wait(", "  judged = judged || n != 256;\n  if (judged) wait(")
            reply = self.ako("try", "--hypothesis", "waits where it is judged", at=task, exit=(0, 10, 14))
            if reply.code != 14:
                break
        self.assertEqual(reply.json["outcome"], "improved", reply)
        against_baseline = self.ako("show", at=task, exit=0).data["iteration"]["versus_baseline"]
        if against_baseline is not None:  # a busy machine gives none
            self.assertLess(against_baseline["gain"], 0.8)


if __name__ == "__main__":
    main()
