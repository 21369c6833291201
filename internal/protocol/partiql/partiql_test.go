package partiql_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/internal/protocol/partiql"
)

// Package idemddb has a file with all statements that it sends: TestStatementsReadAsTheFileSays.

func TestStatementsMeanWhatTheExpressionsSay(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct{ got, want partiql.Statement }{
		"lists of both kinds": {
			partiql.Update("t", "SET a = :a, b = b + :one REMOVE c, #d", "pk = :pk", map[string]string{"#d": `the "d"`}),
			partiql.Statement{
				Text:       `UPDATE "t" SET "a" = ? SET "b" = "b" + ? REMOVE "c" REMOVE "the ""d""" WHERE "pk" = ?`,
				Parameters: []string{":a", ":one", ":pk"},
			},
		},
		"every part of a condition": {
			partiql.Update(`my "t"`, "SET a = :a",
				"pk = :pk AND (attribute_not_exists(#b) OR attribute_exists(c) OR NOT begins_with(d, :a)) AND e <> :e AND f >= :f",
				map[string]string{"#b": "b.b"}),
			partiql.Statement{
				Text: `UPDATE "my ""t""" SET "a" = ? WHERE "pk" = ? AND ( "b.b" IS MISSING OR "c" IS NOT MISSING OR NOT begins_with ( "d" , ? ) )` +
					` AND "e" <> ? AND "f" >= ?`,
				Parameters: []string{":a", ":pk", ":a", ":e", ":f"},
			},
		},
		"operators without spaces, and a number": {
			partiql.Update("t", "SET a_1=:a+1", "pk=:pk AND b<:b AND c<=:c AND d>:d AND e>=:e AND f<>:f", nil),
			partiql.Statement{
				Text:       `UPDATE "t" SET "a_1" = ? + 1 WHERE "pk" = ? AND "b" < ? AND "c" <= ? AND "d" > ? AND "e" >= ? AND "f" <> ?`,
				Parameters: []string{":a", ":pk", ":b", ":c", ":d", ":e", ":f"},
			},
		},
		"a reading": {
			partiql.Select("t", "#pk = :pk AND #sk = :sk", map[string]string{"#pk": "pk", "#sk": "s.k"}),
			partiql.Statement{Text: `SELECT * FROM "t" WHERE "pk" = ? AND "s.k" = ?`, Parameters: []string{":pk", ":sk"}},
		},
		"an insertion": {
			partiql.Insert("t", []string{"pk", "user's"}),
			partiql.Statement{Text: `INSERT INTO "t" VALUE {'pk': ?, 'user''s': ?}`, Parameters: []string{"pk", "user's"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			if diff := cmp.Diff(c.want, c.got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
