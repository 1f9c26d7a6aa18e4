package kubernetes

import (
	"errors"
	"fmt"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Connect finds the API server as kubectl does: through the given kubeconfig, else the one that KUBECONFIG names or
// the one in the home folder, and in a pod through its service account. namespace is the one that the configuration
// names, or "default".
func Connect(kubeconfig string) (config *rest.Config, namespace string, err error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	found := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil)
	config, err = found.ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return nil, "", errors.New("find a Kubernetes API server: this is not a pod with a service account, and there is no kubeconfig at KUBECONFIG or ~/.kube/config; name one with --kubeconfig")
	}
	if err != nil {
		return nil, "", fmt.Errorf("find a Kubernetes API server: %w; name a kubeconfig with --kubeconfig", err)
	}
	if namespace, _, err = found.Namespace(); err != nil {
		return nil, "", fmt.Errorf("find the namespace of jobs: %w; name it with --kubernetes-namespace", err)
	}
	return config, namespace, nil
}
