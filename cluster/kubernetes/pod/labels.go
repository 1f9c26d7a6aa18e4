package pod

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// labelsOf are the labels by which people and tools find a task's pod. An execution's id has an @ in it, which no
// label has: _ stands for it.
func labelsOf(t wire.Task, framework string) map[string]string {
	all := map[string]string{
		LabelFramework: LabelValue(framework),
		LabelJob:       LabelValue(t.JobName),
		LabelExecution: LabelValue(strings.ReplaceAll(t.ExecutionID, "@", "_")),
		LabelItem:      strconv.Itoa(t.Item),
		LabelAttempt:   strconv.Itoa(t.Attempt),
	}
	if t.Daemon != nil {
		all[LabelDaemon] = "true"
	}
	return all
}

// LabelValue is a text as a label has it: the text itself where a label can hold it, else what of it can be held, cut,
// with a hash of the whole behind it.
func LabelValue(text string) string {
	if len(validation.IsValidLabelValue(text)) == 0 {
		return text
	}
	sum := sha256.Sum256([]byte(text))
	hash := hex.EncodeToString(sum[:4])
	word := strings.Map(func(r rune) rune {
		if r < 0x80 && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
			strings.ContainsRune("-_.", r)) {
			return r
		}
		return '-'
	}, text)
	word = word[:min(len(word), validation.LabelValueMaxLength-len(hash)-1)]
	return strings.TrimLeft(word+"-"+hash, "-_.")
}

// with is a map with more entries, which win.
func with(entries, more map[string]string) map[string]string {
	all := maps.Clone(entries)
	if all == nil {
		return more
	}
	maps.Copy(all, more)
	return all
}
