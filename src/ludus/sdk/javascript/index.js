'use strict';
// The SDK for hosts written in JavaScript (docs/hosts.md).

const { Stored } = require('./layout.js');
const { SplitMix } = require('./seeds.js');
const { refuse, serve } = require('./serve.js');

module.exports = { SplitMix, Stored, refuse, serve };
