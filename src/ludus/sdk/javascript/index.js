'use strict';
// What a game written in JavaScript needs to be a host (docs/hosts.md).

const { SplitMix } = require('./seeds.js');
const { refuse, serve } = require('./serve.js');

module.exports = { SplitMix, refuse, serve };
