package pack

import (
	"cmp"
	"path"
	"regexp"
	"strings"

	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// SourceOf returns the source of the package of a task with this command.
func SourceOf(p wire.Package, command []string) Source {
	return Source{URL: p.URL, SHA256: p.SHA256, Cache: p.Cache, Whole: isNamed(p.URL, command)}
}

// extension matches the end of the name of an archive that programs read without unpacking it. Such an archive can
// also be a script.
var extension = regexp.MustCompile(`(?i)\.(jar|war|ear|rar|sar|har|par|kar|aar|whl|egg|pyzw?|phar|nupkg|nbm|hpi|` +
	`zip|tar|tgz|tbz2?|txz|tzst|gz|bz2|xz|zst)$`)

// isNamed reports whether a command names the file of a URL: `java -jar app.jar`, `java -cp app.jar:lib/* Main`,
// `sh -c 'exec java -jar ./app.jar'`, `java -jar "*.jar"`. A program that opens a file by that name expects the archive
// itself, not its content.
func isNamed(url string, command []string) bool {
	u, err := parse(url)
	if err != nil {
		return false
	}
	file := baseName(u)
	end := extension.FindString(file)
	if end == "" {
		return false
	}
	var name *regexp.Regexp
	for _, word := range command {
		if path.Clean(word) == file {
			return true
		}
		if !strings.Contains(word, file) && !strings.Contains(word, "*"+end) {
			continue
		}
		// The name must be a whole path, which may begin in the package's folder or the working folder.
		name = cmp.Or(name, regexp.MustCompile(
			"(?:^|[\\s=:;,'\"@(&|<>`])"+`(?:\./|\$\{?\w+\}?/|\$\(pwd\)/)*(?:`+regexp.QuoteMeta(file)+`|\*`+
				regexp.QuoteMeta(end)+")(?:$|[\\s:;,'\")&|<>`!=])"))
		if name.MatchString(word) {
			return true
		}
	}
	return false
}
