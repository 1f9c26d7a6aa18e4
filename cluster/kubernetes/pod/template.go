package pod

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/document"
)

// merge merges the templates of the installation and of the app, in this order, onto base. It merges as kubectl merges
// patches: maps by key, and lists such as containers, volumes and variables by name. Without templates it returns base
// itself.
func (s Settings) merge(base *corev1.PodTemplateSpec, app cluster.Container) (*corev1.PodTemplateSpec, error) {
	if len(s.Template) == 0 && len(app.Template) == 0 {
		return base, nil
	}
	merged, err := json.Marshal(base)
	if err != nil {
		return nil, err
	}
	for _, t := range []struct {
		template []byte
		check    func([]byte) document.Violations
	}{{s.Template, Check}, {app.Template, s.Check}} {
		if len(t.template) == 0 {
			continue
		}
		if err := t.check(t.template).OrNil(); err != nil {
			return nil, fmt.Errorf("podTemplate can't be used: %w", err)
		}
		merged, err = strategicpatch.StrategicMergePatch(merged, t.template, corev1.PodTemplateSpec{})
		if err != nil {
			return nil, fmt.Errorf("merge the podTemplate: %w", err)
		}
	}
	result := new(corev1.PodTemplateSpec)
	if err := json.Unmarshal(merged, result); err != nil {
		return nil, fmt.Errorf("read the merged podTemplate: %w", err)
	}
	return result, nil
}
