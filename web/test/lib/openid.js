// An OpenID Connect provider for tests, which logs in everyone at once.
import { createSign, generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'

/**
 * startProvider starts a provider that returns the same claims for everyone.
 * @param {Record<string, unknown>} claims
 */
export async function startProvider(claims) {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const encode = (/** @type {unknown} */ value) => Buffer.from(JSON.stringify(value)).toString('base64url')
  /** @type {Map<string, {nonce: string | null, client: string | null}>} */
  const codes = new Map()
  let url = ''
  const server = createServer(async (request, answer) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', url)
    const json = (/** @type {unknown} */ body) => answer.setHeader('Content-Type', 'application/json').end(JSON.stringify(body))
    if (pathname === '/.well-known/openid-configuration') {
      json({ issuer: url, authorization_endpoint: `${url}/authorize`, token_endpoint: `${url}/token`, jwks_uri: `${url}/keys`, id_token_signing_alg_values_supported: ['RS256'], response_types_supported: ['code'], subject_types_supported: ['public'], code_challenge_methods_supported: ['S256'] })
    } else if (pathname === '/keys') {
      json({ keys: [{ ...publicKey.export({ format: 'jwk' }), use: 'sig', alg: 'RS256', kid: 'one' }] })
    } else if (pathname === '/authorize') {
      const code = `code-${codes.size}`
      codes.set(code, { nonce: searchParams.get('nonce'), client: searchParams.get('client_id') })
      answer.writeHead(302, { Location: `${searchParams.get('redirect_uri')}?code=${code}&state=${encodeURIComponent(searchParams.get('state') ?? '')}` }).end()
    } else if (pathname === '/token') {
      let form = ''
      for await (const part of request) form += part
      const asked = codes.get(new URLSearchParams(form).get('code') ?? '')
      const now = Math.floor(Date.now() / 1000)
      const text = `${encode({ alg: 'RS256', kid: 'one' })}.${encode({ iss: url, aud: asked?.client, nonce: asked?.nonce, sub: 'somebody', iat: now, exp: now + 600, ...claims })}`
      json({ access_token: 'none', token_type: 'Bearer', id_token: `${text}.${createSign('RSA-SHA256').update(text).sign(privateKey, 'base64url')}` })
    } else {
      answer.writeHead(404).end()
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  url = `http://127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (server.address()).port}`
  return { url, end: () => server.close() }
}
