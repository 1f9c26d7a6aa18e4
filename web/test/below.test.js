// The console below a path, where a proxy serves it. Like nginx, the proxy removes the path from requests.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, request } from 'node:http'
import { after } from 'node:test'
import { startProvider } from './lib/openid.js'
import { scene, useServer } from './lib/scene.js'

const path = '/tools/elasticjob'
const provider = await startProvider({ preferred_username: 'olga', groups: ['staff'] })
after(() => provider.end())
const proxy = createServer((incoming, answer) => {
  if (!incoming.url?.startsWith(`${path}/`)) {
    answer.writeHead(404).end()
    return
  }
  const onward = request(server.url + incoming.url.slice(path.length), { method: incoming.method, headers: incoming.headers }, (found) => {
    answer.writeHead(found.statusCode ?? 502, found.headers)
    found.pipe(answer)
  })
  onward.on('error', () => answer.destroy())
  answer.on('close', () => onward.destroy())
  incoming.pipe(onward)
})
proxy.listen(0, '127.0.0.1')
await once(proxy, 'listening')
after(() => {
  proxy.close()
  proxy.closeAllConnections()
})
const url = `http://127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (proxy.address()).port}${path}/`
const server = useServer({
  args: ['--oidc-issuer', provider.url, '--oidc-client-id', 'elasticjob', '--oidc-role', 'staff=viewer', '--oidc-redirect-url', `${url}api/oidc/callback`],
})

scene('a user logs in, follows links, goes back and reloads a page', server, async ({ open }) => {
  const page = await open(`${url}jobs`)
  page.problems.expect(/^answer: 401 GET \/tools\/elasticjob\/api\//)
  const at = () => page.url().replace(url, '/')
  await page.getByRole('link', { name: 'Log in with OpenID' }).click()
  await page.getByText('olga · viewer').waitFor()
  assert.equal(at(), '/')
  await page.getByRole('link', { name: 'Cluster', exact: true }).click()
  await page.getByRole('heading', { level: 1, name: 'Cluster' }).waitFor()
  assert.equal(at(), '/cluster')
  await page.getByRole('link', { name: 'Jobs', exact: true }).click()
  await page.getByRole('heading', { level: 1, name: 'Jobs' }).waitFor()
  await page.goBack()
  await page.getByRole('heading', { level: 1, name: 'Cluster' }).waitFor()
  await page.goto(`${url}jobs/job/nobody`)
  await page.getByText('nobody').first().waitFor()
  page.problems.expect(/^answer: 404 GET \/tools\/elasticjob\/api\/job/)
  await page.goto(`${url}api/docs`)
  await page.getByRole('link', { name: 'ElasticJob' }).first().click()
  await page.getByText('olga · viewer').waitFor()
  assert.equal(at(), '/')
})
