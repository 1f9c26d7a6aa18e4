package secrets

import (
	"regexp"
	"strings"
)

// form matches secrets by their form: tokens of GitHub, GitLab, Slack, Stripe, Google and others, JSON web tokens,
// webhook URLs of chat bots, signatures of URLs, and private keys. Each alternative has two groups: the beginning,
// which is kept, and the secret. Six asterisks are a secret that is already hidden.
var form = regexp.MustCompile(`(\b(?:gh[pousr]_|github_pat_|glpat-|xox[abeoprs]-|[rs]k_(?:live|test)_|sk-ant-|AIza|npm_|dop_v1_|hvs\.|SG\.))([\w.-]{16,}|\*{6})` +
	`|(\beyJ)([\w-]{10,}\.[\w-]{6,}\.[\w-]{6,}|\*{6})` +
	`|(//hooks\.slack\.com/(?:services|workflows|triggers)/|//discord(?:app)?\.com/api/webhooks/|//api\.telegram\.org/bot|/open-apis/bot/v2/hook/|//qyapi\.weixin\.qq\.com/cgi-bin/webhook/send\?key=|[?&](?:sig|signature|X-Amz-Signature)=)([\w/.%:=+*-]+?)(?:/send\w+)?(?:[^\w/.%:=+*-]|$)` +
	`|(-----BEGIN [A-Z ]*PRIVATE KEY-----)([^-]*)(?:-----END|$)`)

// formHints are short parts of what form matches; for example, "ig" is in sig= and signature=. A text without any of
// them is not matched with form, which would take longer.
var formHints = []string{"gh", "github_pat_", "glpat-", "xox", "k_", "sk-ant-", "AIza", "npm_", "dop_", "hvs.", "SG.",
	"eyJ", "//", "/hook/", "ig", "PRIVATE KEY"}

// formSecrets returns the secrets that are known by their form.
func formSecrets(text string) (found []Span) {
	hinted := false
	for _, hint := range formHints {
		hinted = hinted || strings.Contains(text, hint)
	}
	if !hinted {
		return nil
	}
	for _, m := range form.FindAllStringSubmatchIndex(text, -1) {
		for group := 2; 2*group < len(m); group += 2 {
			if m[2*group] >= 0 && m[2*group] < m[2*group+1] {
				found = append(found, Span{From: m[2*group], To: m[2*group+1]})
			}
		}
	}
	return found
}
