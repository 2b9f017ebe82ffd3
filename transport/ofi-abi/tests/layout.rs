//! The Rust types have the sizes, offsets and values of libfabric: first against a table, then, where a C compiler and
//! `<rdma/fabric.h>` are installed, against the headers.

#![allow(clippy::vec_init_then_push)] // One push a line is what the macros expand to.

use std::mem::{offset_of, size_of};
use std::process::Command;

use ofi_abi::*;

/// A C expression and its value in Rust.
type Fact = (String, u64);

macro_rules! layout {
    ($facts:ident: $($name:ident { $($field:ident),* $(,)? })*) => {
        $(
            $facts.push((format!("sizeof(struct {})", stringify!($name)), size_of::<$name>() as u64));
            $({
                let field = stringify!($field).trim_end_matches('_');
                $facts.push((format!("offsetof(struct {}, {field})", stringify!($name)), offset_of!($name, $field) as u64));
            })*
        )*
    };
}

macro_rules! constants {
    ($facts:ident: $($name:ident),* $(,)?) => { $($facts.push((stringify!($name).to_string(), $name as u64));)* };
}

fn layouts() -> Vec<Fact> {
    let mut facts = Vec::new();
    layout! { facts:
        iovec { iov_base, iov_len }
        fid { fclass, context, ops }
        fi_ops { size, close, bind, control, ops_open, tostr, ops_set }
        fid_fabric { fid, ops, api_version }
        fi_ops_fabric { size, domain, passive_ep, eq_open, wait_open, trywait, domain2 }
        fi_info { next, caps, mode, addr_format, src_addrlen, dest_addrlen, src_addr, dest_addr, handle, tx_attr, rx_attr,
            ep_attr, domain_attr, fabric_attr, nic }
        fi_tx_attr { caps, mode, op_flags, msg_order, comp_order, inject_size, size, iov_limit, rma_iov_limit, tclass }
        fi_rx_attr { caps, mode, op_flags, msg_order, comp_order, size, iov_limit }
        fi_ep_attr { type_, protocol, protocol_version, max_msg_size, msg_prefix_size, max_order_raw_size,
            max_order_war_size, max_order_waw_size, mem_tag_format, tx_ctx_cnt, rx_ctx_cnt, auth_key_size, auth_key }
        fi_domain_attr { domain, name, threading, control_progress, data_progress, resource_mgmt, av_type, mr_mode,
            mr_key_size, cq_data_size, cq_cnt, ep_cnt, tx_ctx_cnt, rx_ctx_cnt, max_ep_tx_ctx, max_ep_rx_ctx,
            max_ep_stx_ctx, max_ep_srx_ctx, cntr_cnt, mr_iov_limit, caps, mode, auth_key, auth_key_size, max_err_data,
            mr_cnt, tclass, max_ep_auth_key, max_group_id, max_cntr_value, max_err_cntr_value }
        fi_fabric_attr { fabric, name, prov_name, prov_version, api_version }
        fid_nic { fid, device_attr, bus_attr, link_attr, prov_attr }
        fi_device_attr { name, device_id, device_version, vendor_id, driver, firmware }
        fi_link_attr { address, mtu, speed, state, network_type }
        fid_domain { fid, ops, mr }
        fi_ops_domain { size, av_open, cq_open, endpoint, scalable_ep, cntr_open, poll_open, stx_ctx, srx_ctx,
            query_atomic, query_collective, endpoint2 }
        fi_av_attr { type_, rx_ctx_bits, count, ep_per_node, name, map_addr, flags }
        fid_av { fid, ops }
        fi_ops_av { size, insert, insertsvc, insertsym, remove, lookup, straddr, av_set, insert_auth_key,
            lookup_auth_key, set_user_id }
        fid_mr { fid, mem_desc, key }
        fi_mr_attr { mr_iov, iov_count, access, offset, requested_key, context, auth_key_size, auth_key, iface, device,
            hmem_data, page_size, base_mr, sub_mr_cnt }
        fi_ops_mr { size, reg, regv, regattr }
        fid_ep { fid, ops, cm, msg, rma, tagged, atomic, collective }
        fid_pep { fid, ops, cm }
        fi_ops_ep { size, cancel, getopt, setopt, tx_ctx, rx_ctx, rx_size_left, tx_size_left }
        fi_ops_cm { size, setname, getname, getpeer, connect, listen, accept, reject, shutdown, join }
        fi_msg { msg_iov, desc, iov_count, addr, context, data }
        fi_ops_msg { size, recv, recvv, recvmsg, send, sendv, sendmsg, inject, senddata, injectdata }
        fi_msg_tagged { msg_iov, desc, iov_count, addr, tag, ignore, context, data }
        fi_ops_tagged { size, recv, recvv, recvmsg, send, sendv, sendmsg, inject, senddata, injectdata }
        fi_rma_iov { addr, len, key }
        fi_msg_rma { msg_iov, desc, iov_count, addr, rma_iov, rma_iov_count, context, data }
        fi_ops_rma { size, read, readv, readmsg, write, writev, writemsg, inject, writedata, injectdata }
        fi_ioc { addr, count }
        fi_rma_ioc { addr, count, key }
        fi_msg_atomic { msg_iov, desc, iov_count, addr, rma_iov, rma_iov_count, datatype, op, context, data }
        fi_ops_atomic { size, write, writev, writemsg, inject, readwrite, readwritev, readwritemsg, compwrite,
            compwritev, compwritemsg, writevalid, readwritevalid, compwritevalid }
        fi_wait_attr { wait_obj, flags }
        fi_eq_attr { size, flags, wait_obj, signaling_vector, wait_set }
        fid_eq { fid, ops }
        fi_eq_err_entry { fid, context, data, err, prov_errno, err_data, err_data_size }
        fi_eq_cm_entry { fid, info }
        fi_ops_eq { size, read, readerr, write, sread, strerror }
        fi_cq_attr { size, flags, format, wait_obj, signaling_vector, wait_cond, wait_set }
        fid_cq { fid, ops }
        fi_cq_entry { op_context }
        fi_cq_msg_entry { op_context, flags, len }
        fi_cq_data_entry { op_context, flags, len, buf, data }
        fi_cq_tagged_entry { op_context, flags, len, buf, data, tag }
        fi_cq_err_entry { op_context, flags, len, buf, data, tag, olen, err, prov_errno, err_data, err_data_size,
            src_addr }
        fi_ops_cq { size, read, readfrom, readerr, sread, sreadfrom, signal, strerror }
        fi_cntr_attr { events, wait_obj, wait_set, flags }
        fid_cntr { fid, ops }
        fi_ops_cntr { size, read, readerr, add, set, wait, adderr, seterr }
        fi_context { internal }
        fi_provider { version, fi_version, context, name, getinfo, fabric, cleanup }
    }
    facts
}

fn values() -> Vec<Fact> {
    let mut facts = Vec::new();
    constants! { facts:
        FI_MSG, FI_RMA, FI_TAGGED, FI_ATOMIC, FI_READ, FI_WRITE, FI_RECV, FI_SEND, FI_TRANSMIT, FI_REMOTE_READ,
        FI_REMOTE_WRITE, FI_MULTI_RECV, FI_REMOTE_CQ_DATA, FI_MORE, FI_PEEK, FI_COMPLETION, FI_EVENT, FI_INJECT,
        FI_INJECT_COMPLETE, FI_TRANSMIT_COMPLETE, FI_DELIVERY_COMPLETE, FI_LOCAL_COMM, FI_REMOTE_COMM, FI_SOURCE,
        FI_DIRECTED_RECV, FI_CLAIM, FI_DISCARD, FI_SELECTIVE_COMPLETION, FI_SYNC_ERR,
        FI_ADDR_NOTAVAIL, FI_ADDR_UNSPEC,
        FI_CLASS_FABRIC, FI_CLASS_DOMAIN, FI_CLASS_EP, FI_CLASS_AV, FI_CLASS_MR, FI_CLASS_EQ, FI_CLASS_CQ,
        FI_CLASS_CNTR, FI_GETOPSFLAG, FI_SETOPSFLAG, FI_GETWAIT, FI_ENABLE,
        FI_FORMAT_UNSPEC, FI_AV_UNSPEC, FI_AV_MAP, FI_AV_TABLE, FI_MR_BASIC, FI_MR_SCALABLE,
        FI_MR_LOCAL, FI_MR_VIRT_ADDR, FI_MR_ALLOCATED, FI_MR_PROV_KEY, FI_CONTEXT, FI_CONTEXT2, FI_RX_CQ_DATA,
        FI_LINK_DOWN, FI_LINK_UP,
        FI_PROGRESS_UNSPEC, FI_PROGRESS_AUTO, FI_PROGRESS_MANUAL,
        FI_THREAD_SAFE, FI_THREAD_DOMAIN, FI_THREAD_ENDPOINT,
        FI_RM_ENABLED, FI_EP_UNSPEC, FI_EP_MSG, FI_EP_RDM, FI_ORDER_SAS,
        FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, FI_OPT_CM_DATA_SIZE,
        FI_NOTIFY, FI_CONNREQ, FI_CONNECTED, FI_SHUTDOWN,
        FI_WAIT_NONE, FI_WAIT_UNSPEC, FI_WAIT_FD, FI_WAIT_YIELD, FI_CQ_FORMAT_UNSPEC, FI_CQ_FORMAT_CONTEXT, FI_CQ_FORMAT_MSG,
        FI_CQ_FORMAT_DATA, FI_CQ_FORMAT_TAGGED,FI_CNTR_EVENTS_COMP,
        FI_EIO, FI_EAGAIN, FI_ENOMEM, FI_EBUSY, FI_EINVAL, FI_ENOSYS, FI_ENOMSG, FI_ENODATA, FI_EMSGSIZE,
        FI_ENOPROTOOPT, FI_EOPNOTSUPP, FI_EADDRNOTAVAIL, FI_ENETDOWN, FI_ECONNRESET, FI_ENOTCONN, FI_ETIMEDOUT, FI_ECANCELED,
        FI_EOTHER, FI_ETOOSMALL, FI_EOPBADSTATE, FI_EAVAIL, FI_EBADFLAGS, FI_ENOCQ, FI_ETRUNC, FI_ENOAV,
    }
    facts
}

/// Constants that the headers have only since 2.0.
fn values_since_2_0() -> Vec<Fact> {
    let mut facts = Vec::new();
    constants! { facts:
        FI_PROGRESS_CONTROL_UNIFIED, FI_CNTR_EVENTS_BYTES, FI_OPT_MAX_MSG_SIZE, FI_OPT_MAX_TAGGED_SIZE,
        FI_OPT_INJECT_MSG_SIZE, FI_OPT_INJECT_TAGGED_SIZE,
    }
    facts
}

#[test]
fn sizes_are_those_of_2_5() {
    let expected = [
        (size_of::<fi_info>(), 120),
        (size_of::<fi_tx_attr>(), 80),
        (size_of::<fi_rx_attr>(), 64),
        (size_of::<fi_ep_attr>(), 96),
        (size_of::<fi_domain_attr>(), 224),
        (size_of::<fi_fabric_attr>(), 32),
        (size_of::<fi_provider>(), 72),
        (size_of::<fid>(), 24),
        (size_of::<fid_domain>(), 40),
        (size_of::<fid_fabric>(), 40),
        (size_of::<fid_mr>(), 40),
        (size_of::<fid_ep>(), 80),
        (size_of::<fid_av>(), 32),
        (size_of::<fid_cq>(), 32),
        (size_of::<fid_cntr>(), 32),
        (size_of::<fid_eq>(), 32),
        (size_of::<fi_av_attr>(), 48),
        (size_of::<fi_cq_attr>(), 40),
        (size_of::<fi_cntr_attr>(), 24),
        (size_of::<fi_msg>(), 48),
        (size_of::<fi_msg_tagged>(), 64),
        (size_of::<fi_msg_rma>(), 64),
        (size_of::<fi_msg_atomic>(), 72),
        (size_of::<fi_cq_entry>(), 8),
        (size_of::<fi_cq_msg_entry>(), 24),
        (size_of::<fi_cq_data_entry>(), 40),
        (size_of::<fi_cq_tagged_entry>(), 48),
        (size_of::<fi_cq_err_entry>(), 88),
        (size_of::<fi_ops_av>(), 88),
        (size_of::<fi_mr_attr>(), 112),
    ];
    for (position, (size, wanted)) in expected.into_iter().enumerate() {
        assert_eq!(size, wanted, "entry {position} of the table");
    }
    assert_eq!(offset_of!(fi_domain_attr, max_ep_auth_key), 192);
    assert_eq!(offset_of!(fi_domain_attr, max_group_id), 200);
    assert_eq!(offset_of!(fi_domain_attr, max_cntr_value), 208);
    assert_eq!(offset_of!(fi_domain_attr, max_err_cntr_value), 216);
    assert_eq!(offset_of!(fi_mr_attr, hmem_data), 80);
    assert_eq!(offset_of!(fi_cq_err_entry, src_addr), 80);
}

#[test]
fn headers_agree() {
    let Some(version) = ask_headers(&["FI_MAJOR_VERSION".to_string()]) else {
        println!("no C compiler or no <rdma/fabric.h>: the types are not compared with the headers");
        return;
    };
    let old = version[0] < 2;
    let mut facts = layouts();
    if old {
        facts.retain(|(expression, _)| !is_new(expression));
    }
    facts.extend(values());
    if !old {
        facts.extend(values_since_2_0());
    }
    let expressions: Vec<String> = facts.iter().map(|(expression, _)| expression.clone()).collect();
    let answers = ask_headers(&expressions).expect("headers that know their version compile the rest");
    assert_eq!(answers.len(), facts.len());
    let wrong: Vec<String> = facts
        .iter()
        .zip(&answers)
        .filter(|((_, ours), theirs)| ours != *theirs)
        .map(|((expression, ours), theirs)| format!("{expression}: {ours} here, {theirs} in the headers"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Whether the expression is about what headers before 2.0 do not have: the tails, and so the sizes, of four types.
fn is_new(expression: &str) -> bool {
    const NEW: [&str; 15] = [
        "sizeof(struct fi_domain_attr)",
        "sizeof(struct fi_ops_av)",
        "sizeof(struct fi_mr_attr)",
        "sizeof(struct fi_cq_err_entry)",
        "max_ep_auth_key)",
        "max_group_id)",
        "max_cntr_value)",
        "max_err_cntr_value)",
        "insert_auth_key)",
        "lookup_auth_key)",
        "set_user_id)",
        "fi_mr_attr, hmem_data)",
        "fi_mr_attr, page_size)",
        "fi_mr_attr, base_mr)",
        "fi_mr_attr, sub_mr_cnt)",
    ];
    NEW.iter().any(|new| expression.ends_with(new)) || expression == "offsetof(struct fi_cq_err_entry, src_addr)"
}

/// Compiles and runs a C program that prints the expressions.
fn ask_headers(expressions: &[String]) -> Option<Vec<u64>> {
    let folder = std::env::temp_dir().join(format!("ofi-abi-{}-{}", std::process::id(), expressions.len()));
    std::fs::create_dir_all(&folder).ok()?;
    let (source, program) = (folder.join("ask.c"), folder.join("ask"));
    let mut text = String::from("#include <stdio.h>\n#include <stddef.h>\n");
    for header in [
        "fabric",
        "fi_domain",
        "fi_endpoint",
        "fi_cm",
        "fi_tagged",
        "fi_rma",
        "fi_atomic",
        "fi_eq",
        "providers/fi_prov",
    ] {
        text += &format!("#include <rdma/{header}.h>\n");
    }
    text += "int main(void) {\n";
    for expression in expressions {
        text += &format!("printf(\"%llu\\n\", (unsigned long long)({expression}));\n");
    }
    text += "return 0; }\n";
    std::fs::write(&source, text).ok()?;
    let compiled = Command::new("cc").arg("-w").arg("-o").arg(&program).arg(&source).output().ok()?;
    if !compiled.status.success() {
        println!("{}", String::from_utf8_lossy(&compiled.stderr));
    }
    let output = compiled.status.success().then(|| Command::new(&program).output().ok()).flatten();
    let _ = std::fs::remove_dir_all(&folder);
    String::from_utf8(output?.stdout).ok()?.lines().map(|line| line.parse().ok()).collect()
}
