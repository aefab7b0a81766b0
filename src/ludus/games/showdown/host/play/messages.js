'use strict';
// The kinds of messages that a server may send, so that those nobody has heard of can be told.

const LONGEST_KIND = 40;
const KINDS_TOLD = 100; // a server that makes kinds up is not listened to for ever

/** Talk, and clocks: no part of a battle, and as much of it as others like to send. */
const TALK = words(`c c: chat j J join l L leave n N name html uhtml uhtmlchange inactive inactiveoff title users
	tempnotify tempnotifyoff hidelines unlink notify bigerror debug : deinit expire noinit error raw selectorhtml pagehtml
	controlshtml fieldhtml refresh tournament seed askreg cantleave allowleave`);

/** What a battle is made of (SIM-PROTOCOL.md of the simulator). */
const BATTLE = words(`init player teamsize gametype gen tier rated rule clearpoke poke updatepoke teampreview start
	showteam
	request sentchoice t: upkeep turn win tie prematureend move switch drag detailschange replace swap cant faint message
	custom
	-ability -activate -anim -block -boost -burst -candynamax -center -clearallboost -clearboost -clearnegativeboost
	-clearpositiveboost -combine -copyboost -crit -curestatus -cureteam -damage -end -endability -enditem -fail
	-fieldactivate
	-fieldend -fieldstart -formechange -heal -hint -hitcount -immune -invertboost -item -mega -message -miss -mustrecharge
	-notarget -nothing -ohko -prepare -primal -resisted -setboost -sethp -sideend -sidestart -singlemove -singleturn -start
	-status -supereffective -swapboost -swapsideconditions -terastallize -transform -unboost -waiting -weather
	-zbroken -zpower`);

/** What belongs to no room. */
const GLOBAL = words(`updateuser challstr nametaken updatesearch updatechallenges popup pm formats customgroups
	usercount
	queryresponse raw html error tournaments unlink hidelines refresh`);

function words(text) {
	return new Set(text.split(/\s+/));
}

/** The kind of a line: what stands between its first two bars, '' for plain text. */
function kindOf(line) {
	if (!line.startsWith('|')) return '';
	const end = line.indexOf('|', 1);
	return end < 0 ? line.slice(1) : line.slice(1, end);
}

/** Tells of each unknown kind once. */
class Unknown {
	constructor(tell) {
		this.tell = tell;
		this.told = new Set();
	}

	see(line, isBattle) {
		const kind = kindOf(line);
		if (kind === '' || (isBattle ? BATTLE.has(kind) || TALK.has(kind) : GLOBAL.has(kind))) return;
		const name = kind.slice(0, LONGEST_KIND);
		if (this.told.has(name) || this.told.size >= KINDS_TOLD) return;
		this.told.add(name);
		this.tell({ event: 'unknown', kind: name });
	}
}

module.exports = { TALK, Unknown, kindOf };
