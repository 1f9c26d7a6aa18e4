package sqldump

import "regexp"

// dialect says how a database writes texts and names. MySQL has escapes with backslashes and texts in double quotes;
// standard SQL, which PostgreSQL and Oracle follow, has neither; SQL Server puts names in brackets.
type dialect struct {
	name      string
	backslash bool
	brackets  bool
	// lines says that a statement also ends where a line begins with the next one, as in scripts of SQL Server.
	lines bool
}

var (
	mysql     = dialect{name: "MySQL", backslash: true}
	standard  = dialect{name: "standard SQL"}
	sqlServer = dialect{name: "SQL Server", brackets: true, lines: true}
)

// signs tell the dialects apart, the strongest first. A sign is searched for outside of any text as far as the start of
// a line shows that, because the texts of a dump may hold anything.
var signs = []struct {
	pattern *regexp.Regexp
	dialect dialect
}{
	{regexp.MustCompile("(?mi)^\\s*" + heads + "(?:\\w+\\.)?`"), mysql},
	{regexp.MustCompile(`(?mi)^\s*` + heads + `(?:\w+\.)?\[`), sqlServer},
	{regexp.MustCompile(`(?mi)^\s*` + heads + `(?:\w+\.)?"`), standard},
	{regexp.MustCompile(`(?mi)^-- (?:MySQL|MariaDB) dump|^/\*(?:!|M!)\d|^\).*\bENGINE\s*=`), mysql},
	{regexp.MustCompile(`(?mi)^-- PostgreSQL database dump|^COPY .* FROM stdin;|^SET standard_conforming_strings`), standard},
	{regexp.MustCompile(`(?mi)^\s*` + heads + `public\.`), standard},
	{regexp.MustCompile(`(?mi)^GO\s*$|^SET IDENTITY_INSERT|^\s*` + heads + `dbo\.`), sqlServer},
	{regexp.MustCompile(`(?mi)^REM INSERTING|^SET DEFINE OFF`), standard},
}

// heads match what stands before the name of a table at the start of a statement.
const heads = `(?:INSERT (?:IGNORE )?(?:INTO )?|REPLACE INTO |CREATE TABLE (?:IF NOT EXISTS )?|UPDATE (?:ONLY )?|` +
	`DELETE FROM |DROP TABLE (?:IF EXISTS )?|ALTER TABLE (?:ONLY )?|LOCK TABLES |COPY )`

// dialectOf returns the dialect of a dump, and whether something in it shows it. XXL-JOB itself only has MySQL, so that
// this is the dialect of a file that shows none.
func dialectOf(text string) (d dialect, shown bool) {
	for _, sign := range signs {
		if sign.pattern.MatchString(text) {
			return sign.dialect, true
		}
	}
	return mysql, false
}
