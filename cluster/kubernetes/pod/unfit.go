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

// checkPlacement rejects node selectors, node affinity and tolerations that are invalid or that Unfit cannot evaluate.
func (c *fieldCheck) checkPlacement(spec *corev1.PodSpec) {
	path := field + ".spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
	for i, term := range terms(spec) {
		if len(term.MatchFields) > 0 {
			c.violate(fmt.Sprintf("%s[%d].matchFields", path, i), "",
				"can't be set: choose nodes by their labels; %s is one", corev1.LabelHostname)
		}
		for j, e := range term.MatchExpressions {
			c.checkExpression(fmt.Sprintf("%s[%d].matchExpressions[%d]", path, i, j), e)
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
			c.violate(at+".key", t.Key,
				"can't be set: the job decides about a shard on a node that does not answer (failover)")
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

// checkExpression checks that an expression has the values that its operator requires.
func (c *fieldCheck) checkExpression(at string, e corev1.NodeSelectorRequirement) {
	require := func(valid bool, message string) {
		if !valid {
			c.violate(at+".values", strings.Join(e.Values, ", "), "%s", message)
		}
	}
	switch e.Operator {
	case corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn:
		require(len(e.Values) > 0, "must have one or more")
	case corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist:
		require(len(e.Values) == 0, "must be left out: the operator only checks for the label")
	case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt:
		oneNumber := len(e.Values) == 1
		if oneNumber {
			_, err := strconv.ParseInt(e.Values[0], 10, 64)
			oneNumber = err == nil
		}
		require(oneNumber, "must be one whole number, in quotes")
	}
}

// terms returns the terms of the required node affinity; nil if there is none. A node must match at least one of them.
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
		// An app with an invalid template cannot be published, so this one was written directly into the registry.
		why := "the app's " + err.Error()
		return func(*cluster.Attributes) string { return why }
	}
	return func(on *cluster.Attributes) string { return unfit(&merged.Spec, on) }
}

// unfit implements Unfit for the merged pod.
func unfit(spec *corev1.PodSpec, on *cluster.Attributes) string {
	for _, key := range sorted(spec.NodeSelector) {
		if have, ok := on.Labels[key]; !ok || have != spec.NodeSelector[key] {
			return fmt.Sprintf("it lacks the label %s=%s, which the app asks for", key, spec.NodeSelector[key])
		}
	}
	if why := unmetAffinity(spec, on.Labels); why != "" {
		return why
	}
	for _, t := range on.Taints {
		if t.Effect != string(corev1.TaintEffectPreferNoSchedule) && !slices.ContainsFunc(spec.Tolerations,
			func(toleration corev1.Toleration) bool { return tolerates(toleration, t) }) {
			return fmt.Sprintf("it has the taint %s, which the app does not tolerate", taintText(t))
		}
	}
	return ""
}

// unmetAffinity says which expressions of the app's required node affinity a node does not meet: the first of each
// term. It returns "" if there is no such affinity or if the node meets all expressions of one term.
func unmetAffinity(spec *corev1.PodSpec, labels map[string]string) string {
	required := spec.Affinity != nil && spec.Affinity.NodeAffinity != nil &&
		spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil
	if !required {
		return ""
	}
	var lacks []string
	for _, term := range terms(spec) {
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

// matches reports whether labels meet an expression, by the rules of Kubernetes.
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

// expressionText describes in which way a node does not meet an expression.
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

// tolerates reports whether a toleration tolerates a taint, by the rules of Kubernetes.
func tolerates(toleration corev1.Toleration, t cluster.Taint) bool {
	otherEffect := toleration.Effect != "" && string(toleration.Effect) != t.Effect
	otherKey := toleration.Key != "" && toleration.Key != t.Key
	switch {
	case otherEffect || otherKey:
		return false
	case toleration.Operator == corev1.TolerationOpExists:
		return true
	}
	return toleration.Key != "" && toleration.Value == t.Value
}

func taintText(t cluster.Taint) string {
	if t.Value == "" {
		return t.Key + ":" + t.Effect
	}
	return t.Key + "=" + t.Value + ":" + t.Effect
}
