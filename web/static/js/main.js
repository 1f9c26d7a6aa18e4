// Starts the console.
import { html, render } from './lib/html.js'
import { readSession } from './lib/session.js'
import { followTheme } from './lib/store.js'
import { retryStyles } from './lib/styles.js'
import { startRouter } from './lib/router.js'
import { Console } from './frame/console.js'

retryStyles()
followTheme()
startRouter()
await readSession()
const box = /** @type {Element} */ (document.getElementById('console'))
box.replaceChildren() // removes the text that says that the page is loading
render(html`<${Console} />`, box)
