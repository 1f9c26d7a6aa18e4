// The console's SharedWorker. It runs the hub for all tabs of a browser.
import { events } from './lib/events.js'
import { Hub } from './lib/hub.js'

const hub = new Hub(events)
addEventListener('connect', (e) => hub.add(/** @type {MessageEvent} */ (e).ports[0]))
