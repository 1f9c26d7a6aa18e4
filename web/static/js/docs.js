// The page of the API's description begins here.
import { html, render } from './lib/html.js'
import { learnSession } from './lib/session.js'
import { followTheme } from './lib/store.js'
import { Docs } from './docs/page.js'

followTheme()
await learnSession()
render(html`<${Docs} />`, /** @type {Element} */ (document.getElementById('docs')))
