// The page of the API's description begins here.
import { html, render } from './lib/html.js'
import { learnSession } from './lib/session.js'
import { mendStyles } from './lib/styles.js'
import { followTheme } from './lib/store.js'
import { Docs } from './docs/page.js'

mendStyles()
followTheme()
await learnSession()
const box = /** @type {Element} */ (document.getElementById('docs'))
box.replaceChildren() // it says that this is loading
render(html`<${Docs} />`, box)
