import '../lib/nobrowser.js'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { actionWord, sourceWord } from '../../static/js/lib/codewords.js'
import { language } from '../../static/js/lib/store.js'

test('codes have words in the language of the console; one of a later release stays as it is', () => {
  const said = () => [sourceWord('NORMAL_TRIGGER'), sourceWord('CLOUD_EXECUTOR'), actionWord('job.trigger'), sourceWord('OF_A_LATER_RELEASE'), actionWord('later.act'), sourceWord('constructor')]
  assert.deepEqual(said(), ['cron', 'executor', 'Job triggered', 'OF_A_LATER_RELEASE', 'later.act', 'constructor'])
  language.set('zh')
  assert.deepEqual(said(), ['cron 触发', '执行器', '触发作业', 'OF_A_LATER_RELEASE', 'later.act', 'constructor'])
  language.set('en')
})
