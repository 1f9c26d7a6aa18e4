package sqldump_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/definitions/convert/sqldump"
)

// noColumns is a function columnsOf that knows no table.
func noColumns(string, []string) []string { return nil }

// show returns the rows and the ignored statements of a dump, one in each line.
func show(d *sqldump.Dump) string {
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(d.Tables)) {
		for _, row := range d.Tables[name].Rows {
			fmt.Fprintf(&out, "%s:", name)
			for _, column := range slices.Sorted(maps.Keys(row.Values)) {
				v := row.Values[column]
				fmt.Fprintf(&out, " %s=%q", column, v.Text)
				if v.Unknown {
					out.WriteString("?")
				}
			}
			out.WriteString("\n")
		}
	}
	for _, ignored := range d.Ignored {
		fmt.Fprintf(&out, "line %d: %s: %s\n", ignored.Line, ignored.Statement, ignored.Why)
	}
	return out.String()
}

func TestRead(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ dump, want string }{
		"columns of the INSERT": {"INSERT INTO `x`.`T` (`id`, `A`) VALUES (1, 'a'), (2, NULL);",
			`t: a="a" id="1"` + "\n" + `t: id="2"`},
		"columns of the CREATE TABLE": {"CREATE TABLE IF NOT EXISTS t (id int DEFAULT '0' COMMENT 'a, b', a text, PRIMARY KEY (id), KEY k (a));\nINSERT INTO t VALUES (1, 'a');",
			`t: a="a" id="1"`},
		"columns without names": {"INSERT INTO t VALUES (1, 'a');", `t: column 1="1" column 2="a"`},
		"MySQL's escapes":       {"INSERT INTO `t` (a, b) VALUES ('it''s \\'x\\' \\n \\% \"', \"y\"\"z\");", "t: a=\"it's 'x' \\n \\\\% \\\"\" b=\"y\\\"z\""},
		"standard SQL has none": {`INSERT INTO "t" ("a", b) VALUES ('C:\new', E'x\ny');`, `t: a="C:\\new" b="x\ny"`},
		"text of PostgreSQL":    {"INSERT INTO public.t (a) VALUES ('\\d+'::text);", `t: a="\\d+"`},
		"SQL Server": {"SET IDENTITY_INSERT [dbo].[t] ON\nINSERT [dbo].[t] ([id], [a]) VALUES (1, N'x\\y')\nINSERT [dbo].[t] ([id], [a]) VALUES (2, CAST(N'2025-01-01' AS DateTime))\nGO\nSET IDENTITY_INSERT [dbo].[t] OFF\nGO\n",
			`t: a="x\\y" id="1"` + "\n" + `t: a="2025-01-01" id="2"`},
		"Oracle":   {"REM INSERTING into T\nSET DEFINE OFF;\nInsert into T (ID,A,B) values (1,to_date('2025','YYYY'),'a'||chr(10)||'b');", `t: a="2025" b="a\nb" id="1"`},
		"COPY":     {"COPY public.t (id, a, b) FROM stdin;\n1\tx\\ty\\\\\t\\N\n2\t;'\tz\n\\.\n\nSELECT 1;\n", `t: a="x\ty\\" id="1"` + "\n" + `t: a=";'" b="z" id="2"`},
		"psql":     {"\\restrict abc'd\n-- PostgreSQL database dump\nINSERT INTO t (a) VALUES (1);\n", `t: a="1"`},
		"values":   {"INSERT INTO t (a,b,c,d,e,f,g) VALUES (-1, 0x6162, X'63', b'01', _utf8mb4'x' COLLATE utf8_bin, now(), CONCAT('a', 'b'));", `t: a="-1" b="ab" c="c" d="1" e="x" f="now()"? g="ab"`},
		"SET":      {"INSERT INTO t SET id = 1, a = 'b';", `t: a="b" id="1"`},
		"SELECT":   {"INSERT INTO t SELECT * FROM u;", "line 1: INSERT INTO t SELECT * FROM u: it has no VALUES or SET"},
		"upsert":   {"INSERT INTO t (id, a, b) VALUES (1, 'a', 'b');\nINSERT INTO t (id, a, b) VALUES (1, 'c', 'd'), (2, 'e', 'f') ON DUPLICATE KEY UPDATE a = VALUES(a), b = 'x';", `t: a="c" b="x" id="1"` + "\n" + `t: a="e" b="f" id="2"`},
		"alias":    {"INSERT INTO t (id, a) VALUES (1, 'a');\nINSERT INTO t (id, a) VALUES (1, 'c') AS n ON DUPLICATE KEY UPDATE a = n.a;", `t: a="c" id="1"`},
		"EXCLUDED": {"INSERT INTO \"t\" (id, a) VALUES (1, 'a');\nINSERT INTO t (id, a) VALUES (1, 'c') ON CONFLICT (id) DO UPDATE SET a = EXCLUDED.a;\nINSERT INTO t (id, a) VALUES (1, 'd') ON CONFLICT DO NOTHING;", `t: a="c" id="1"`},
		"IGNORE":   {"INSERT INTO t (id, a) VALUES (1, 'a'); INSERT IGNORE INTO t (id, a) VALUES (1, 'b'); REPLACE INTO t (id, a) VALUES (1, 'c');", `t: a="c" id="1"`},
		"UPDATE": {"INSERT INTO t (id, a) VALUES (1, 'a'), (2, 'b'), (3, 'c');\nUPDATE `t` SET `a` = 'x' WHERE `id` = 1;\nUPDATE t SET a = 'y' WHERE (id IN (2, 3) AND a = 'c');\nUPDATE t SET a = 'z' WHERE id > 2;\nUPDATE t SET a = 'z' WHERE id = 9;\nUPDATE t SET a = NULL WHERE id = 2;",
			`t: a="x" id="1"` + "\n" + `t: id="2"` + "\n" + `t: a="y" id="3"` + "\n" +
				"line 4: UPDATE t SET a = '…' WHERE id > 2: its condition is not supported\nline 5: UPDATE t SET a = '…' WHERE id = 9: no row here matches its condition"},
		"DELETE":     {"INSERT INTO t (id) VALUES (1), (2), (3);\nDELETE FROM t WHERE id = 2;\nDELETE FROM t WHERE id BETWEEN 1 AND 2;", `t: id="1"` + "\n" + `t: id="3"` + "\n" + "line 3: DELETE FROM t WHERE id BETWEEN 1 AND 2: its condition is not supported"},
		"DROP":       {"INSERT INTO t (id) VALUES (1); DROP TABLE IF EXISTS t, u; INSERT INTO u (id) VALUES (2); TRUNCATE TABLE u; INSERT INTO u (id) VALUES (3);", `u: id="3"`},
		"ALTER":      {"CREATE TABLE t (id int);\nALTER TABLE t ADD COLUMN a int DEFAULT 0;\nALTER TABLE t ADD b int AFTER id, ADD KEY (a);\nINSERT INTO t VALUES (1, 2);", `t: a="2" id="1"` + "\n" + "line 3: ALTER TABLE t ADD b int AFTER id, ADD KEY (a): adding this column is not supported"},
		"comments":   {"/*!40101 SET NAMES utf8 */;\n/* a; 'b */ -- c; 'd\n# e'\n/*M!999999\\- enable the sandbox mode */\nINSERT INTO `t` (a) VALUES (1) /*!50000 , (2) */;", `t: a="1"` + "\n" + `t: a="2"`},
		"procedures": {"DELIMITER //\nCREATE PROCEDURE p() BEGIN UPDATE t SET a = 1; END//\nDELIMITER ;\nINSERT INTO t (a) VALUES (1);", `t: a="1"` + "\n" + "line 1: DELIMITER // CREATE PROCEDURE p() BEGIN UPDATE t SET a = 1; END// DELIMITER ;: the kind of statement is not supported"},
		"others":     {"MERGE INTO t USING u ON (1=1);\nCALL p();\nSET @x = 1;", "line 1: MERGE INTO t USING u ON (1=1): the kind of statement is not supported\nline 2: CALL p(): the kind of statement is not supported"},
		"too short":  {"INSERT INTO t (a, b) VALUES (1);", "line 1: INSERT INTO t (a, b) VALUES (1): a row has 1 values for 2 columns"},
		"incomplete": {"INSERT INTO t (a) VALUES ('x", "line 1: INSERT INTO t (a) VALUES ('…': it is incomplete"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := strings.TrimSpace(show(sqldump.Read(test.dump, noColumns))); got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

// TestEveryStatementCounts checks that each statement of a dump changes the result.
func TestEveryStatementCounts(t *testing.T) {
	t.Parallel()
	statements := []string{
		"INSERT INTO t (id, a) VALUES (1, 'a')", "INSERT INTO t (id, a) VALUES (2, 'b')",
		"UPDATE t SET a = 'c' WHERE id = 2", "DELETE FROM t WHERE id = 1", "CALL p()", "MERGE INTO t USING u ON (1 = 1)",
		"INSERT INTO t SELECT 1", "UPDATE t SET a = b WHERE id = 2", "ALTER TABLE t DROP COLUMN a",
	}
	complete := show(sqldump.Read(strings.Join(statements, ";\n"), noColumns))
	for i := range statements {
		rest := slices.Delete(slices.Clone(statements), i, i+1)
		if got := show(sqldump.Read(strings.Join(rest, ";\n"), noColumns)); got == complete {
			t.Errorf("without %s the result is the same", statements[i])
		}
	}
}

func TestGuessed(t *testing.T) {
	t.Parallel()
	for dump, want := range map[string]bool{
		`INSERT INTO t (a) VALUES ('x')`:      false,
		`INSERT INTO t (a) VALUES ('x\n')`:    true,
		"INSERT INTO `t` (a) VALUES ('x\\n')": false,
	} {
		if got := sqldump.Read(dump, noColumns).Guessed; got != want {
			t.Errorf("%s: %v, want %v", dump, got, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add("INSERT INTO t (a) VALUES (1) ON CONFLICT DO UPDATE SET a = 1;\nCOPY t FROM stdin;\n1\n\\.\nDELIMITER //\n")
	f.Add("UPDATE t SET a = (1 WHERE id IN (1,;INSERT INTO [x] VALUES\nGO\n/*!1")
	f.Fuzz(func(_ *testing.T, dump string) { sqldump.Read(dump, noColumns) })
}
