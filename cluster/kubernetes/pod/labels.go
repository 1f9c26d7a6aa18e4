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

// labelsOf returns the labels by which users and tools find a task's pod. _ replaces the @ of an execution's id, which
// a label value cannot contain.
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

// LabelValue converts a text to a label value. It returns a valid text unchanged. In any other text it replaces the
// invalid characters, truncates the text, and appends a hash of the original.
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

// with returns a map of the entries of both maps; those of more take precedence. It modifies neither map, but may
// return more itself.
func with(entries, more map[string]string) map[string]string {
	all := maps.Clone(entries)
	if all == nil {
		return more
	}
	maps.Copy(all, more)
	return all
}
