package notify

// StartTLSAt makes a port one of those where a mail server expects STARTTLS.
func (s *Sender) StartTLSAt(port int) { s.startTLSPorts = append(s.startTLSPorts, port) }
