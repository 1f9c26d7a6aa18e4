// A login with an OpenID provider.
import { after } from 'node:test'
import { accessible } from './lib/browser.js'
import { startProvider } from './lib/openid.js'
import { scene, useServer } from './lib/scene.js'

const provider = await startProvider({ preferred_username: 'olga', groups: ['staff'] })
after(() => provider.end())
const server = useServer({ args: ['--oidc-issuer', provider.url, '--oidc-client-id', 'elasticjob', '--oidc-role', 'staff=viewer'] })

scene('a user logs in with OpenID, and can log out', server, async ({ open }) => {
  const page = await open('/jobs')
  // Nobody is logged in at first. Requests that are in progress when the session ends are rejected as well.
  page.problems.expect(/^answer: 401 GET \/api\//)
  const way = page.getByRole('link', { name: 'Log in with OpenID' })
  await way.waitFor()
  await accessible(page)
  await way.click()
  await page.getByText('olga · viewer').waitFor()
  await page.getByRole('button', { name: 'Log out' }).click()
  await way.waitFor()
})
