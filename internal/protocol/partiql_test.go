package protocol

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Package idemddb has a file with all statements that it sends: TestStatementsReadAsTheFileSays.

func TestStatementsMeanWhatTheExpressionsSay(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct{ got, want statement }{
		"lists of both kinds": {
			updateStatement("t", "SET a = :a, b = b + :one REMOVE c, #d", "pk = :pk", map[string]string{"#d": `the "d"`}),
			statement{
				text:       `UPDATE "t" SET "a" = ? SET "b" = "b" + ? REMOVE "c" REMOVE "the ""d""" WHERE "pk" = ?`,
				parameters: []string{":a", ":one", ":pk"},
			},
		},
		"every part of a condition": {
			updateStatement(`my "t"`, "SET a = :a",
				"pk = :pk AND (attribute_not_exists(#b) OR attribute_exists(c) OR NOT begins_with(d, :a)) AND e <> :e AND f >= :f",
				map[string]string{"#b": "b.b"}),
			statement{
				text: `UPDATE "my ""t""" SET "a" = ? WHERE "pk" = ? AND ( "b.b" IS MISSING OR "c" IS NOT MISSING OR NOT begins_with ( "d" , ? ) )` +
					` AND "e" <> ? AND "f" >= ?`,
				parameters: []string{":a", ":pk", ":a", ":e", ":f"},
			},
		},
		"operators without spaces, and a number": {
			updateStatement("t", "SET a_1=:a+1", "pk=:pk AND b<:b AND c<=:c AND d>:d AND e>=:e AND f<>:f", nil),
			statement{
				text:       `UPDATE "t" SET "a_1" = ? + 1 WHERE "pk" = ? AND "b" < ? AND "c" <= ? AND "d" > ? AND "e" >= ? AND "f" <> ?`,
				parameters: []string{":a", ":pk", ":b", ":c", ":d", ":e", ":f"},
			},
		},
		"a reading": {
			selectStatement("t", "#pk = :pk AND #sk = :sk", map[string]string{"#pk": "pk", "#sk": "s.k"}),
			statement{text: `SELECT * FROM "t" WHERE "pk" = ? AND "s.k" = ?`, parameters: []string{":pk", ":sk"}},
		},
		"an insertion": {
			insertStatement("t", []string{"pk", "user's"}),
			statement{text: `INSERT INTO "t" VALUE {'pk': ?, 'user''s': ?}`, parameters: []string{"pk", "user's"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			if diff := cmp.Diff(c.want, c.got, cmp.AllowUnexported(statement{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}
