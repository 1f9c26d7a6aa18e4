// Package netproblem describes why a server was not reached. Its texts are for users who may name any server but must
// not see its answers: they contain no address, no name and no part of an answer.
package netproblem

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"syscall"
)

// Advice returns the end of a sentence that says what to do about an error of a connection, or "". It follows the text
// of the error.
func Advice(err error) string {
	if authority := (x509.UnknownAuthorityError{}); errors.As(err, &authority) {
		return ": give its PEM file to the scheduler with --ca-file"
	}
	return ""
}

// Text says why a connection failed, without any data that came over it. It returns "" for other errors.
func Text(err error) string {
	var (
		name        *net.DNSError
		dial        *net.OpError
		certificate *tls.CertificateVerificationError
		authority   x509.UnknownAuthorityError
		noTLS       tls.RecordHeaderError
		alert       tls.AlertError
	)
	switch {
	case errors.As(err, &name):
		return "its name is not found"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "the connection is refused"
	case errors.As(err, &dial) && dial.Op == "dial":
		return "it can't be reached"
	case errors.As(err, &authority):
		return "its certificate is signed by an unknown authority, which --ca-file can name"
	case errors.As(err, &certificate):
		return "its certificate is not one that is trusted for this name"
	case errors.As(err, &noTLS):
		return "it does not speak TLS on this port"
	case errors.As(err, &alert):
		return "it refuses the TLS that is offered"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF),
		errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "the connection broke off"
	}
	return ""
}
