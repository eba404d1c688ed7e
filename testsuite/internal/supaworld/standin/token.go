package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"strings"
	"time"
)

// claims are those of a JWT.
type claims map[string]any

// text is a claim that is a string.
func (c claims) text(name string) string {
	s, _ := c[name].(string)
	return s
}

// role is the database role that the token stands for.
func (c claims) role() string {
	if r := c.text("role"); r != "" {
		return r
	}
	return "anon"
}

// jwk is a JSON web key of the two kinds that the stack uses.
type jwk struct {
	Kty string   `json:"kty"`
	Kid string   `json:"kid,omitempty"`
	Alg string   `json:"alg,omitempty"`
	Crv string   `json:"crv,omitempty"`
	X   string   `json:"x,omitempty"`
	Y   string   `json:"y,omitempty"`
	D   string   `json:"d,omitempty"`
	K   string   `json:"k,omitempty"`
	Use string   `json:"use,omitempty"`
	Ops []string `json:"key_ops,omitempty"`
}

// keys sign and verify tokens: shared secrets (HS256) and P-256 keys (ES256).
type keys struct {
	secrets [][]byte
	public  map[string]*ecdsa.PublicKey // by kid
	private *ecdsa.PrivateKey           // nil: the first secret signs
	kid     string
}

var b64 = base64.RawURLEncoding

// newKeys reads secrets, key sets and arrays of keys; "" is left out.
func newKeys(texts ...string) (*keys, error) {
	k := &keys{public: map[string]*ecdsa.PublicKey{}}
	for _, text := range texts {
		var set struct{ Keys []jwk }
		switch {
		case text == "":
			continue
		case strings.HasPrefix(text, "{"):
			if err := json.Unmarshal([]byte(text), &set); err != nil {
				return nil, err
			}
		case strings.HasPrefix(text, "["):
			if err := json.Unmarshal([]byte(text), &set.Keys); err != nil {
				return nil, err
			}
		default:
			k.secrets = append(k.secrets, []byte(text))
		}
		for _, j := range set.Keys {
			if err := k.add(j); err != nil {
				return nil, err
			}
		}
	}
	return k, nil
}

// add takes one key.
func (k *keys) add(j jwk) error {
	if j.Kty == "oct" {
		secret, err := b64.DecodeString(j.K)
		k.secrets = append(k.secrets, secret)
		return err
	}
	if j.Kty != "EC" || j.Crv != "P-256" {
		return fmt.Errorf("a key of kind %s %s", j.Kty, j.Crv)
	}
	x, errX := b64.DecodeString(j.X)
	y, errY := b64.DecodeString(j.Y)
	if err := errors.Join(errX, errY); err != nil {
		return err
	}
	pub := &ecdsa.PublicKey{Curve: elliptic.P256(), X: new(big.Int).SetBytes(x), Y: new(big.Int).SetBytes(y)}
	k.public[j.Kid] = pub
	if j.D != "" {
		d, err := b64.DecodeString(j.D)
		if err != nil {
			return err
		}
		k.private, k.kid = &ecdsa.PrivateKey{PublicKey: *pub, D: new(big.Int).SetBytes(d)}, j.Kid
	}
	return nil
}

// sign makes a token.
func (k *keys) sign(c claims) (string, error) {
	header := map[string]string{"typ": "JWT", "alg": "HS256"}
	if k.private != nil {
		header["alg"], header["kid"] = "ES256", k.kid
	}
	h, err := json.Marshal(header)
	if err != nil {
		return "", err
	}
	body, err := json.Marshal(c)
	if err != nil {
		return "", err
	}
	text := b64.EncodeToString(h) + "." + b64.EncodeToString(body)
	if k.private == nil {
		if len(k.secrets) == 0 {
			return "", errors.New("there is no key to sign with")
		}
		return text + "." + b64.EncodeToString(mac(k.secrets[0], text)), nil
	}
	digest := sha256.Sum256([]byte(text))
	r, s, err := ecdsa.Sign(rand.Reader, k.private, digest[:])
	if err != nil {
		return "", err
	}
	sig := make([]byte, 64)
	r.FillBytes(sig[:32])
	s.FillBytes(sig[32:])
	return text + "." + b64.EncodeToString(sig), nil
}

// mac is the HS256 signature.
func mac(secret []byte, text string) []byte {
	m := hmac.New(sha256.New, secret)
	m.Write([]byte(text))
	return m.Sum(nil)
}

// verify gives the claims of a token; no token is one of the role anon.
func (k *keys) verify(token string) (claims, error) {
	if token == "" {
		return claims{"role": "anon"}, nil
	}
	no := &refusal{http.StatusUnauthorized, "bad_jwt", "invalid JWT: unable to parse or verify signature"}
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return nil, no
	}
	head, errHead := b64.DecodeString(parts[0])
	body, errBody := b64.DecodeString(parts[1])
	sig, errSig := b64.DecodeString(parts[2])
	var header struct{ Alg, Kid string }
	var c claims
	if errors.Join(errHead, errBody, errSig) != nil || json.Unmarshal(head, &header) != nil || json.Unmarshal(body, &c) != nil ||
		!k.signed(header.Alg, header.Kid, parts[0]+"."+parts[1], sig) {
		return nil, no
	}
	if exp, ok := c["exp"].(float64); ok && time.Now().Unix() > int64(exp) {
		return nil, &refusal{http.StatusUnauthorized, "bad_jwt", "JWT expired"}
	}
	return c, nil
}

// signed reports that one of the keys made the signature.
func (k *keys) signed(alg, kid, text string, sig []byte) bool {
	if alg == "ES256" && len(sig) == 64 {
		digest := sha256.Sum256([]byte(text))
		pub := k.public[kid]
		return pub != nil && ecdsa.Verify(pub, digest[:], new(big.Int).SetBytes(sig[:32]), new(big.Int).SetBytes(sig[32:]))
	}
	if alg == "HS256" {
		for _, secret := range k.secrets {
			if hmac.Equal(sig, mac(secret, text)) {
				return true
			}
		}
	}
	return false
}

// jwks is the public half of the P-256 keys.
func (k *keys) jwks() map[string]any {
	list := []jwk{}
	for kid, pub := range k.public {
		list = append(list, jwk{Kty: "EC", Kid: kid, Alg: "ES256", Crv: "P-256", Use: "sig",
			X: b64.EncodeToString(pub.X.FillBytes(make([]byte, 32))), Y: b64.EncodeToString(pub.Y.FillBytes(make([]byte, 32)))})
	}
	return map[string]any{"keys": list}
}
