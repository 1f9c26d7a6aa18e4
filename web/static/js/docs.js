// Starts the page with the description of the API.
import { html, render } from './lib/html.js'
import { readSession } from './lib/session.js'
import { retryStyles } from './lib/styles.js'
import { followTheme } from './lib/store.js'
import { Docs } from './docs/page.js'

retryStyles()
followTheme()
await readSession()
const box = /** @type {Element} */ (document.getElementById('docs'))
box.replaceChildren() // removes the text that says that the page is loading
render(html`<${Docs} />`, box)
