//! What ranks say to each other: bytes to neighbors, and sums, minima and words to all.
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};

/// Bytes for another rank and from it.
#[derive(Debug, Default)]
pub struct Message {
    pub rank: usize,
    pub outgoing: Vec<u8>,
    /// As long as what the other rank sends.
    pub incoming: Vec<u8>,
}

/// Bytes in the memory of GPUs for another rank and from it: addresses and lengths.
#[derive(Clone, Copy, Debug)]
pub struct GpuMessage {
    pub rank: usize,
    pub outgoing: (u64, usize),
    pub incoming: (u64, usize),
}

/// The ranks of a run, seen by one of them.
///
/// All verbs but [`send`](Self::send), [`receive`](Self::receive) and [`abort`](Self::abort) are collective: every
/// rank calls them in the same order. That a rank is gone ends all others, too.
pub trait Communicator: Send + Sync {
    fn rank(&self) -> usize;
    fn size(&self) -> usize;
    /// What carries the messages.
    fn name(&self) -> String;

    fn send(&self, to: usize, bytes: &[u8]);
    fn receive(&self, from: usize) -> Vec<u8>;

    /// Exchanges messages with other ranks, all at once, and does `meanwhile` while they travel.
    fn exchange(&self, messages: &mut [Message], meanwhile: &mut dyn FnMut());

    /// The same where the lengths of what comes in are not known.
    fn exchange_any(&self, messages: &mut [Message]) {
        let length = |message: &Message| (message.outgoing.len() as u64).to_le_bytes().to_vec();
        let mut lengths: Vec<Message> = messages
            .iter()
            .map(|message| Message {
                rank: message.rank,
                outgoing: length(message),
                incoming: vec![0; 8],
            })
            .collect();
        self.exchange(&mut lengths, &mut || {});
        for (message, length) in messages.iter_mut().zip(&lengths) {
            let bytes: [u8; 8] = length.incoming[..].try_into().expect("8 bytes");
            message.incoming.resize(u64::from_le_bytes(bytes) as usize, 0);
        }
        self.exchange(messages, &mut || {});
    }

    /// Whether [`exchange_on_gpus`](Self::exchange_on_gpus) can be used; the same on all ranks.
    fn reaches_gpus(&self) -> bool {
        false
    }

    /// Exchanges messages that lie in the memory of GPUs, with all neighbors at once.
    fn exchange_on_gpus(&self, messages: &[GpuMessage]) {
        let _ = messages;
        unreachable!("messages of GPUs take another way here")
    }

    /// Gives all ranks what `root` has.
    fn broadcast(&self, root: usize, bytes: &mut Vec<u8>) {
        if self.rank() == root {
            (0..self.size()).filter(|&rank| rank != root).for_each(|rank| self.send(rank, bytes));
        } else {
            *bytes = self.receive(root);
        }
    }

    /// Of the ranks that have the same words, how many come before this one, and how many there are.
    fn place_among(&self, words: &str) -> (usize, usize) {
        let same = |rank: &usize| {
            let mut bytes = words.as_bytes().to_vec();
            self.broadcast(*rank, &mut bytes);
            bytes == words.as_bytes()
        };
        let alike: Vec<usize> = (0..self.size()).filter(same).collect();
        let before = alike.iter().filter(|&&rank| rank < self.rank()).count();
        (before, alike.len())
    }

    /// Sums over ranks, element by element.
    fn sum(&self, values: &mut [i64]) {
        reduce(self, values, i64::wrapping_add, i64::from_le_bytes, i64::to_le_bytes);
    }

    /// Minima over ranks, element by element.
    fn minimum(&self, values: &mut [u64]) {
        reduce(self, values, u64::min, u64::from_le_bytes, u64::to_le_bytes);
    }

    /// Ends all ranks; those that are threads end when they miss this one.
    fn abort(&self);
}

/// Combines values on rank 0, which tells the result.
fn reduce<T: Copy>(
    ranks: &(impl Communicator + ?Sized),
    values: &mut [T],
    combine: impl Fn(T, T) -> T,
    from_bytes: impl Fn([u8; 8]) -> T,
    to_bytes: impl Fn(T) -> [u8; 8],
) {
    let write =
        |values: &[T]| -> Vec<u8> { values.iter().flat_map(|&value| to_bytes(value)).collect() };
    let read = |bytes: &[u8]| -> Vec<T> {
        bytes.as_chunks::<8>().0.iter().map(|&bytes| from_bytes(bytes)).collect()
    };
    if ranks.rank() != 0 {
        ranks.send(0, &write(values));
    } else {
        for rank in 1..ranks.size() {
            for (value, other) in values.iter_mut().zip(read(&ranks.receive(rank))) {
                *value = combine(*value, other);
            }
        }
    }
    let mut bytes = write(values);
    ranks.broadcast(0, &mut bytes);
    values.copy_from_slice(&read(&bytes));
}

/// Sums of 128-bit integers over fewer than 2^31 ranks, in pieces of 32 bits whose carries come after.
pub fn sum_exactly(ranks: &dyn Communicator, values: &mut [i128]) {
    let mut pieces: Vec<i64> = values
        .iter()
        .flat_map(|&value| {
            let low = |piece: u32| i64::from((value >> (32 * piece)) as u32);
            [low(0), low(1), low(2), (value >> 96) as i64]
        })
        .collect();
    ranks.sum(&mut pieces);
    for (value, pieces) in values.iter_mut().zip(pieces.as_chunks::<4>().0) {
        *value = (0..4).rev().fold(0, |sum, piece| (sum << 32) + i128::from(pieces[piece]));
    }
}

/// Ranks that are threads of one process.
pub struct Threads {
    rank: usize,
    to: Vec<Sender<Vec<u8>>>,
    from: Vec<Mutex<Receiver<Vec<u8>>>>,
}

impl Threads {
    /// As many ranks as wanted; each belongs to a thread of its own.
    pub fn ranks(count: usize) -> Vec<Threads> {
        let mut ranks: Vec<Threads> =
            (0..count).map(|rank| Threads { rank, to: Vec::new(), from: Vec::new() }).collect();
        for from in 0..count {
            for to in 0..count {
                let (sender, receiver) = channel();
                ranks[from].to.push(sender);
                ranks[to].from.push(Mutex::new(receiver));
            }
        }
        ranks
    }
}

impl Communicator for Threads {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.to.len()
    }

    fn name(&self) -> String {
        "threads of one process".to_owned()
    }

    fn send(&self, to: usize, bytes: &[u8]) {
        let sent = self.to[to].send(bytes.to_vec());
        assert!(sent.is_ok(), "rank {to} has ended before rank {}", self.rank);
    }

    fn receive(&self, from: usize) -> Vec<u8> {
        let receiver = self.from[from].lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        match receiver.recv() {
            Ok(bytes) => bytes,
            Err(_) => panic!("rank {from} has ended before rank {}", self.rank),
        }
    }

    fn exchange(&self, messages: &mut [Message], meanwhile: &mut dyn FnMut()) {
        messages.iter().for_each(|message| self.send(message.rank, &message.outgoing));
        meanwhile();
        for message in messages {
            let incoming = self.receive(message.rank);
            assert_eq!(incoming.len(), message.incoming.len(), "from rank {}", message.rank);
            message.incoming.copy_from_slice(&incoming);
        }
    }

    fn abort(&self) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What every rank of some makes of its communicator.
    fn on_each<T: Send>(count: usize, work: impl Fn(&Threads) -> T + Sync) -> Vec<T> {
        let ranks = Threads::ranks(count);
        std::thread::scope(|scope| {
            let threads: Vec<_> = ranks.iter().map(|rank| scope.spawn(|| work(rank))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        })
    }

    #[test]
    fn sums_of_wide_integers_carry() {
        let terms: [i128; 4] = [i128::MAX / 4, -1, (1 << 96) - 1, -(1 << 40)];
        let results = on_each(4, |rank| {
            let mut values = [terms[rank.rank()], -terms[rank.rank()], u64::MAX.into()];
            sum_exactly(rank, &mut values);
            values
        });
        let sum: i128 = terms.iter().sum();
        assert_eq!(results, vec![[sum, -sum, 4 * i128::from(u64::MAX)]; 4]);
    }

    #[test]
    fn all_ranks_know_the_minima_and_the_words_of_any_root() {
        let results = on_each(3, |rank| {
            let mut values = [10 - rank.rank() as u64, u64::MAX];
            rank.minimum(&mut values);
            let mut word = if rank.rank() == 2 { b"word".to_vec() } else { Vec::new() };
            rank.broadcast(2, &mut word);
            (values, word, rank.place_among(if rank.rank() == 1 { "one" } else { "other" }))
        });
        for (rank, (values, word, alike)) in results.into_iter().enumerate() {
            assert_eq!((values, &word[..]), ([8, u64::MAX], &b"word"[..]));
            assert_eq!(alike, [(0, 2), (0, 1), (1, 2)][rank]);
        }
    }

    #[test]
    fn messages_of_any_length_arrive_where_they_are_sent() {
        let ok = on_each(4, |rank| {
            let me = rank.rank();
            let text = |from: usize, to: usize| vec![(10 * from + to) as u8; 3 * from + to];
            let mut messages: Vec<Message> = (0..4)
                .filter(|&other| other != me)
                .map(|other| Message { rank: other, outgoing: text(me, other), incoming: vec![] })
                .collect();
            rank.exchange_any(&mut messages);
            messages.iter().all(|message| message.incoming == text(message.rank, me))
        });
        assert_eq!(ok, [true; 4]);
    }
}
