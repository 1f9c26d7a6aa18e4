package sqldump

import "regexp"

// dialect says how a database writes texts and names. MySQL has escapes with backslashes, and texts in double quotes.
// Standard SQL, which PostgreSQL and Oracle follow, has neither. SQL Server puts names in brackets.
type dialect struct {
	name      string
	backslash bool
	brackets  bool
	// lines says that a statement also ends where a line begins with another statement, as in scripts of SQL Server.
	lines bool
}

var (
	mysql     = dialect{name: "MySQL", backslash: true}
	standard  = dialect{name: "standard SQL"}
	sqlServer = dialect{name: "SQL Server", brackets: true, lines: true}
)

// signs are patterns that show the dialect, the most certain one first. They match only at the start of a line,
// because there they are probably not within a text of the dump, which may contain anything.
var signs = []struct {
	pattern *regexp.Regexp
	dialect dialect
}{
	{regexp.MustCompile("(?mi)^\\s*" + beforeTable + "(?:\\w+\\.)?`"), mysql},
	{regexp.MustCompile(`(?mi)^\s*` + beforeTable + `(?:\w+\.)?\[`), sqlServer},
	{regexp.MustCompile(`(?mi)^\s*` + beforeTable + `(?:\w+\.)?"`), standard},
	{regexp.MustCompile(`(?mi)^-- (?:MySQL|MariaDB) dump|^/\*(?:!|M!)\d|^\).*\bENGINE\s*=`), mysql},
	{regexp.MustCompile(`(?mi)^-- PostgreSQL database dump|^COPY .* FROM stdin;|^SET standard_conforming_strings`), standard},
	{regexp.MustCompile(`(?mi)^\s*` + beforeTable + `public\.`), standard},
	{regexp.MustCompile(`(?mi)^GO\s*$|^SET IDENTITY_INSERT|^\s*` + beforeTable + `dbo\.`), sqlServer},
	{regexp.MustCompile(`(?mi)^REM INSERTING|^SET DEFINE OFF`), standard},
}

// beforeTable matches the words before the name of a table at the start of a statement.
const beforeTable = `(?:INSERT (?:IGNORE )?(?:INTO )?|REPLACE INTO |CREATE TABLE (?:IF NOT EXISTS )?|UPDATE (?:ONLY )?|` +
	`DELETE FROM |DROP TABLE (?:IF EXISTS )?|ALTER TABLE (?:ONLY )?|LOCK TABLES |COPY )`

// dialectOf returns the dialect of a dump, and whether a sign shows it. Without a sign it returns that of MySQL,
// because XXL-JOB itself supports only MySQL.
func dialectOf(text string) (d dialect, shown bool) {
	for _, sign := range signs {
		if sign.pattern.MatchString(text) {
			return sign.dialect, true
		}
	}
	return mysql, false
}
