package pod

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/elasticjob-go/elasticjob/cluster"
)

// placement rejects constraints that Unfit cannot evaluate.
func (c *fieldCheck) placement(spec *corev1.PodSpec) {
	path := field + ".spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
	for i, term := range terms(spec) {
		if len(term.MatchFields) > 0 {
			c.violate(fmt.Sprintf("%s[%d].matchFields", path, i), "",
				"can't be set: choose nodes by their labels; %s is one", corev1.LabelHostname)
		}
		for j, e := range term.MatchExpressions {
			c.expression(fmt.Sprintf("%s[%d].matchExpressions[%d]", path, i, j), e)
		}
	}
	for _, key := range sorted(spec.NodeSelector) {
		wrong := append(validation.IsQualifiedName(key), validation.IsValidLabelValue(spec.NodeSelector[key])...)
		if len(wrong) > 0 {
			c.violate(field+".spec.nodeSelector."+key, spec.NodeSelector[key], "is not a valid node label: %s",
				wrong[0])
		}
	}
	for i, t := range spec.Tolerations {
		at := fmt.Sprintf("%s.spec.tolerations[%d]", field, i)
		if toleratesUnready(t) {
			c.violate(at+".key", t.Key, "can't be set: the job decides about a shard on a node that does not answer (failover)")
		}
		if t.Key == "" && t.Operator != corev1.TolerationOpExists && !c.unsure[at] {
			c.violate(at+".operator", string(t.Operator),
				"must be Exists if there is no key: it then applies to all taints")
		}
		if t.Operator == corev1.TolerationOpExists && t.Value != "" {
			c.violate(at+".value", t.Value, "is only for the operator Equal")
		}
		if t.TolerationSeconds != nil && t.Effect != corev1.TaintEffectNoExecute {
			c.violate(at+".tolerationSeconds", fmt.Sprint(*t.TolerationSeconds), "is only for the effect NoExecute")
		}
	}
}

func (c *fieldCheck) expression(at string, e corev1.NodeSelectorRequirement) {
	values := func(right bool, message string) {
		if !right {
			c.violate(at+".values", strings.Join(e.Values, ", "), "%s", message)
		}
	}
	switch e.Operator {
	case corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn:
		values(len(e.Values) > 0, "must have one or more")
	case corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist:
		values(len(e.Values) == 0, "must be left out: the operator only checks for the label")
	case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt:
		right := len(e.Values) == 1
		if right {
			_, err := strconv.ParseInt(e.Values[0], 10, 64)
			right = err == nil
		}
		values(right, "must be one whole number, in quotes")
	}
}

// terms returns the required node selector terms, of which a node must match at least one; nil if there are none.
func terms(spec *corev1.PodSpec) []corev1.NodeSelectorTerm {
	if spec.Affinity == nil || spec.Affinity.NodeAffinity == nil ||
		spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return nil
	}
	return spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
}

// Unfit returns a function that says why the pods of an app may not be placed on a node with the given attributes: a
// sentence whose subject is the node, or "" if they may. It evaluates the node selectors, the required node affinity
// and the tolerations of the installation's template and of the app's.
func (s Settings) Unfit(app cluster.Container) func(on *cluster.Attributes) string {
	merged, err := s.merge(&corev1.PodTemplateSpec{}, cluster.Container{Template: app.Template})
	if err != nil {
		// Such an app cannot be published, so it was written directly into the registry.
		why := "the app's " + err.Error()
		return func(*cluster.Attributes) string { return why }
	}
	return func(on *cluster.Attributes) string { return unfit(&merged.Spec, on) }
}

func unfit(spec *corev1.PodSpec, on *cluster.Attributes) string {
	for _, key := range sorted(spec.NodeSelector) {
		if have, ok := on.Labels[key]; !ok || have != spec.NodeSelector[key] {
			return fmt.Sprintf("it lacks the label %s=%s, which the app asks for", key, spec.NodeSelector[key])
		}
	}
	if why := unmetAffinity(terms(spec), on.Labels, spec); why != "" {
		return why
	}
	for _, t := range on.Taints {
		if t.Effect != string(corev1.TaintEffectPreferNoSchedule) && !slices.ContainsFunc(spec.Tolerations,
			func(by corev1.Toleration) bool { return tolerates(by, t) }) {
			return fmt.Sprintf("it has the taint %s, which the app does not tolerate", taintText(t))
		}
	}
	return ""
}

// unmetAffinity returns which part of the app's required node affinity a node does not meet. A node must meet one term
// completely.
func unmetAffinity(of []corev1.NodeSelectorTerm, labels map[string]string, spec *corev1.PodSpec) string {
	required := spec.Affinity != nil && spec.Affinity.NodeAffinity != nil &&
		spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil
	if !required {
		return ""
	}
	var lacks []string
	for _, term := range of {
		missed, empty := "", len(term.MatchExpressions) == 0 // an empty term matches no node
		for _, e := range term.MatchExpressions {
			if !matches(e, labels) {
				missed = expressionText(e)
				break
			}
		}
		switch {
		case missed != "":
			lacks = append(lacks, missed)
		case !empty:
			return ""
		}
	}
	if len(lacks) == 0 {
		return "the app's node affinity has no term that a node could meet"
	}
	return "it does not meet the app's node affinity: " + strings.Join(lacks, ", or ")
}

func matches(e corev1.NodeSelectorRequirement, labels map[string]string) bool {
	have, ok := labels[e.Key]
	switch e.Operator {
	case corev1.NodeSelectorOpIn:
		return ok && slices.Contains(e.Values, have)
	case corev1.NodeSelectorOpNotIn:
		return !ok || !slices.Contains(e.Values, have)
	case corev1.NodeSelectorOpExists:
		return ok
	case corev1.NodeSelectorOpDoesNotExist:
		return !ok
	case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt:
		if len(e.Values) != 1 {
			return false
		}
		left, err1 := strconv.ParseInt(have, 10, 64)
		right, err2 := strconv.ParseInt(e.Values[0], 10, 64)
		if err1 != nil || err2 != nil {
			return false
		}
		return e.Operator == corev1.NodeSelectorOpGt && left > right ||
			e.Operator == corev1.NodeSelectorOpLt && left < right
	}
	return false
}

func expressionText(e corev1.NodeSelectorRequirement) string {
	switch e.Operator {
	case corev1.NodeSelectorOpExists:
		return "it lacks the label " + e.Key
	case corev1.NodeSelectorOpDoesNotExist:
		return "it has the label " + e.Key
	case corev1.NodeSelectorOpNotIn:
		return fmt.Sprintf("its label %s is one of %s", e.Key, strings.Join(e.Values, ", "))
	case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt:
		than := map[corev1.NodeSelectorOperator]string{corev1.NodeSelectorOpGt: "above",
			corev1.NodeSelectorOpLt: "below"}[e.Operator]
		return fmt.Sprintf("its label %s is not %s %s", e.Key, than, strings.Join(e.Values, ", "))
	}
	if len(e.Values) == 1 {
		return fmt.Sprintf("it lacks the label %s=%s", e.Key, e.Values[0])
	}
	return fmt.Sprintf("its label %s is none of %s", e.Key, strings.Join(e.Values, ", "))
}

func tolerates(by corev1.Toleration, t cluster.Taint) bool {
	switch {
	case by.Effect != "" && string(by.Effect) != t.Effect, by.Key != "" && by.Key != t.Key:
		return false
	case by.Operator == corev1.TolerationOpExists:
		return true
	}
	return by.Key != "" && by.Value == t.Value
}

func taintText(t cluster.Taint) string {
	if t.Value == "" {
		return t.Key + ":" + t.Effect
	}
	return t.Key + "=" + t.Value + ":" + t.Effect
}
