// The console begins here.
import { html, render } from './lib/html.js'
import { learnSession } from './lib/session.js'
import { followTheme } from './lib/store.js'
import { mendStyles } from './lib/styles.js'
import { startRouter } from './lib/router.js'
import { Console } from './frame/console.js'

mendStyles()
followTheme()
startRouter()
await learnSession()
const box = /** @type {Element} */ (document.getElementById('console'))
box.replaceChildren() // it says that this is loading
render(html`<${Console} />`, box)
